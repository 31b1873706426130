package io.undercroft.benchmarks;

import io.undercroft.mmap.AnonymousMemory;
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

    /// Work that is done in between, or whose whole time counts.
    @FunctionalInterface
    interface Work {
        void run() throws IOException;
    }

    /// One run.
    ///
    /// @param seconds how long it took, by the clock of the process that did it
    /// @param witness a number that is the same for all contenders if they did the same thing
    record Outcome(double seconds, double witness) {
        /// {@return a run that ends now}
        ///
        /// @param start when it began, by [System#nanoTime()]
        /// @param witness the number
        static Outcome since(long start, double witness) {
            return new Outcome((System.nanoTime() - start) / 1e9, witness);
        }
    }

    /// {@return a contender whose whole work is timed}
    ///
    /// @param name what it is called in the report
    /// @param witness the number that all contenders must have
    /// @param work what it does
    static Contender of(String name, long witness, Work work) {
        return new Contender(name, () -> {
            long start = System.nanoTime();
            work.run();
            return Outcome.since(start, (double) witness);
        });
    }

    /// {@return from nothing to one element: a file is opened, a tensor found by its name, and a number read}
    ///
    /// @param name what it is called in the report
    /// @param path the file
    /// @param tensor the name of a tensor
    static Contender opening(String name, Path path, String tensor) {
        return new Contender(name, () -> {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(path)) {
                return Outcome.since(start, checkpoint.tensor(tensor).getDouble(1, 3));
            }
        });
    }

    /// {@return this contender, before whose runs something is done that is not timed}
    ///
    /// @param before what is done
    Contender after(Work before) {
        return new Contender(name, () -> {
            before.run();
            return task.run();
        });
    }

    /// {@return this contender, before whose runs as much memory is touched and freed, so that all find it in one
    /// state}
    ///
    /// @param nbytes how much fresh memory it needs
    Contender refreshed(long nbytes) {
        return after(() -> AnonymousMemory.populatedAllocator().allocate(nbytes).free());
    }
}
