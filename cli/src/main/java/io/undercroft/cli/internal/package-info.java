/// What several commands need: output, tables, text, digests.
@NullMarked
package io.undercroft.cli.internal;

import org.jspecify.annotations.NullMarked;
