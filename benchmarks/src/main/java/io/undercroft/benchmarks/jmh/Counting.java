package io.undercroft.benchmarks.jmh;

import io.undercroft.storage.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;

/// Elements that every dtype holds exactly, and a look at whether they arrived.
final class Counting {
    private static final int PERIOD = 251;
    private static final int PROBES = 10_000;

    private Counting() {}

    /// Writes 0, 1, … 250, 0, … over a one-dimensional tensor.
    static void fill(Tensor tensor) {
        long written = Math.min(PERIOD, tensor.numel());
        for (long i = 0; i < written; i++) {
            tensor.setLong(i, i);
        }
        MemorySegment bytes = tensor.bytes();
        for (long done = tensor.dtype().nbytes(written); done < bytes.byteSize(); done *= 2) {
            long more = Math.min(done, bytes.byteSize() - done);
            bytes.asSlice(done, more).copyFrom(bytes.asSlice(0, more));
        }
    }

    /// Compares elements of two tensors of the same shape, at random places.
    ///
    /// @throws IllegalStateException if two differ
    static void check(Tensor wanted, Tensor found) {
        var random = new SplittableRandom(wanted.numel());
        for (int probe = 0; probe < PROBES; probe++) {
            long[] index = new long[wanted.dim()];
            for (int d = 0; d < index.length; d++) {
                index[d] = random.nextLong(wanted.size(d));
            }
            if (wanted.getDouble(index) != found.getDouble(index)) {
                throw new IllegalStateException(
                        "copied " + found.getDouble(index) + " where " + wanted.getDouble(index) + " was");
            }
        }
    }
}
