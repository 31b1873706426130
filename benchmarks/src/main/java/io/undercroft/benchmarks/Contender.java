package io.undercroft.benchmarks;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.function.Supplier;

/// One of several ways to do the same thing.
///
/// @param name what it is called in the report
/// @param task does it once
record Contender(String name, Task task) {
    private static final ValueLayout.OfInt WORD = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final long MODULUS = 1L << 52;

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

    /// Reads from an open file.
    @FunctionalInterface
    interface Reading {
        double from(Checkpoint checkpoint) throws IOException;
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
            return new Outcome(Contender.since(start), witness);
        }
    }

    /// {@return the seconds since a moment}
    ///
    /// @param start the moment, by [System#nanoTime()]
    static double since(long start) {
        return (System.nanoTime() - start) / 1e9;
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

    /// {@return a contender that opens a file and reads from it; both are timed}
    ///
    /// @param name what it is called in the report
    /// @param path the file
    /// @param reading reads from it and returns the witness
    static Contender opening(String name, Path path, Reading reading) {
        return new Contender(name, () -> {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(path)) {
                return Outcome.since(start, reading.from(checkpoint));
            }
        });
    }

    /// {@return from nothing to one element: a file is opened, a tensor found by its name, and a number read}
    ///
    /// @param name what it is called in the report
    /// @param path the file
    /// @param tensor the name of a tensor
    static Contender opening(String name, Path path, String tensor) {
        return opening(name, path, checkpoint -> checkpoint.tensor(tensor).getDouble(1, 3));
    }

    /// {@return a contender that loads a file into memory; only that is timed}
    ///
    /// @param name what it is called in the report
    /// @param path the file
    /// @param options gives the options for one run
    static Contender loading(String name, Path path, Supplier<OpenOptions> options) {
        return new Contender(name, () -> {
            OpenOptions prepared = options.get();
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(path, prepared)) {
                double seconds = since(start);
                return new Outcome(seconds, sum(checkpoint, Integer.BYTES));
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

    /// {@return the sum of the 32-bit words of all tensors that are a distance apart, as `all_read` and `touched` in
    /// Python return it: it shows that all bytes arrived}
    ///
    /// @param checkpoint the open file
    /// @param distance in bytes
    static double sum(Checkpoint checkpoint, int distance) {
        return witness(checkpoint.tensors().values().stream().mapToLong(tensor -> sum(tensor.bytes(), distance)).sum());
    }

    /// {@return a sum as a witness: as much of it as a double represents exactly}
    static double witness(long sum) {
        return (double) Math.floorMod(sum, MODULUS);
    }

    /// {@return the sum of the 32-bit words of a segment that are a distance apart}
    ///
    /// @param bytes the segment
    /// @param distance in bytes
    static long sum(MemorySegment bytes, int distance) {
        long sum = 0;
        for (long at = 0; at <= bytes.byteSize() - Integer.BYTES; at += distance) {
            sum += bytes.get(WORD, at);
        }
        return sum;
    }
}
