/// Benchmarks that compare Undercroft with PyTorch and safetensors.
///
/// A benchmark times *contenders* in turn, in several rounds, so that other load on the machine affects all of them
/// alike. Python contenders run in one worker process ([Peers]), each is timed by the clock of its own process, and all
/// must read the same element or write the same bytes, which is checked. The result is a list of [Figure]s; a [Report]
/// prints them as a table for people and as one line of JSON for programs. `property-tests` reports in the same form.
@NullMarked
package io.undercroft.benchmarks;

import org.jspecify.annotations.NullMarked;
