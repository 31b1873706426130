/// Descriptions of the bytes of files, for the `croft` command.
@NullMarked
package io.undercroft.format.dump;

import org.jspecify.annotations.NullMarked;
