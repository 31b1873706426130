/// A description of the bytes of a `.croft` file, for the `croft` command.
@NullMarked
package io.undercroft.format.dump;

import org.jspecify.annotations.NullMarked;
