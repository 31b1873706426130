/// What equal bytes in several files are.
@NullMarked
package io.undercroft.cli.internal.dedup;

import org.jspecify.annotations.NullMarked;
