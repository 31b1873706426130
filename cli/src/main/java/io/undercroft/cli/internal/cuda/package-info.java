/// The checks and measurements of `croft cuda-check`.
@NullMarked
package io.undercroft.cli.internal.cuda;

import org.jspecify.annotations.NullMarked;
