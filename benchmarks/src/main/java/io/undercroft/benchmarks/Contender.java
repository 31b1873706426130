package io.undercroft.benchmarks;

import java.io.IOException;

/// One of several ways to do the same thing.
///
/// @param name what it is called in the report
/// @param task does it once
record Contender(String name, Task task) {
    /// Does the thing once and times it, leaving preparation and cleaning up out of the time.
    @FunctionalInterface
    interface Task {
        Outcome run() throws IOException;
    }

    /// One run.
    ///
    /// @param seconds how long it took, by the clock of the process that did it
    /// @param witness a number that is the same for all contenders if they did the same thing
    record Outcome(double seconds, double witness) {}
}
