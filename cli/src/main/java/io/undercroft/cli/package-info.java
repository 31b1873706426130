/// The `croft` command: the library from a shell.
///
/// Results go to standard output, one-line messages to standard error. The exit code is 0 on success, 2 if the command
/// line is wrong, 3 if something is missing or cannot be read, 4 if a file is damaged, and 1 for any other failure.
@NullMarked
package io.undercroft.cli;

import org.jspecify.annotations.NullMarked;
