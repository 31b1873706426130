/// `croft quickstart`: the main features on a PyTorch checkpoint, step by step. Start reading at [Quickstart].
///
/// Each of the [Steps] uses one feature of the library, as a program would, and then checks the result.
@NullMarked
package io.undercroft.cli.internal.quickstart;

import org.jspecify.annotations.NullMarked;
