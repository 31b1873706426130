package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;

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

    /// {@return from nothing to one element: a file is opened, a tensor found by its name, and a number read}
    ///
    /// @param name what it is called in the report
    /// @param path the file
    /// @param tensor the name of a tensor
    static Contender opening(String name, Path path, String tensor) {
        return new Contender(name, () -> {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(path)) {
                double element = checkpoint.tensor(tensor).getDouble(1, 3);
                return new Outcome((System.nanoTime() - start) / 1e9, element);
            }
        });
    }
}
