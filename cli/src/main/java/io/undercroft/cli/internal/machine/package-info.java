/// What the machine offers to the library.
@NullMarked
package io.undercroft.cli.internal.machine;

import org.jspecify.annotations.NullMarked;
