/// How fast Undercroft is, compared with PyTorch and safetensors.
///
/// A benchmark times *contenders* in turn, round after round, so that whatever the machine is doing meanwhile meets all
/// of them. Those of Python run in one worker process that stays up ([Peers]), each is timed by the clock of its own
/// process, and all must read the same element or write the same bytes, which is checked. The result is a list of
/// [Figure]s; a [Report] prints them as a table for people and as one line of JSON for programs. `property-tests`
/// reports in the same form.
@NullMarked
package io.undercroft.benchmarks;

import org.jspecify.annotations.NullMarked;
