/// The comparison of two files.
@NullMarked
package io.undercroft.cli.internal.diff;

import org.jspecify.annotations.NullMarked;
