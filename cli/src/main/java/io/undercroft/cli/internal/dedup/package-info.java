/// Finds equal bytes in several files.
@NullMarked
package io.undercroft.cli.internal.dedup;

import org.jspecify.annotations.NullMarked;
