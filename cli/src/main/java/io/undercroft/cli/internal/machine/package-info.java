/// The features of the machine that the library uses.
@NullMarked
package io.undercroft.cli.internal.machine;

import org.jspecify.annotations.NullMarked;
