/// The `croft` command: what the library does, from a shell.
///
/// Results go to standard output, one-line messages to standard error. The exit code is 0 when all went well, 2 when a
/// file or the command line is bad, 1 when croft itself failed. `verify` ends with 3 if nothing is known to be damaged,
/// but other files that have bytes of the file are missing or were not looked for.
@NullMarked
package io.undercroft.cli;

import org.jspecify.annotations.NullMarked;
