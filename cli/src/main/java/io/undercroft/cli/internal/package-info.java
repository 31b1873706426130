/// Helpers that several commands use: output, tables, text, digests.
@NullMarked
package io.undercroft.cli.internal;

import org.jspecify.annotations.NullMarked;
