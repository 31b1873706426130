/// `croft quickstart`: the main job on real input, step by step. Start reading at [Quickstart].
///
/// Each [Step] is one thing that the library does, written as a program would write it, followed by a check that it is
/// true.
@NullMarked
package io.undercroft.cli.internal.quickstart;

import org.jspecify.annotations.NullMarked;
