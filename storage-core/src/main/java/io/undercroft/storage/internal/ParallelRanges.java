package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/// Shares bulk work among threads: the calling one and those of the common pool.
///
/// Only work that is large enough is shared, and only on memory that other threads may touch. The caller works too and
/// waits for the others, so that it never depends on a free thread, is safe inside the pool as well, and all is done
/// when it returns. The system property `java.util.concurrent.ForkJoinPool.common.parallelism` sets the number of
/// helping threads; with 0 there are none.
final class ParallelRanges {
    /// The minimum number of bytes of a share. They take some 100 µs, ten times as long as waking a thread.
    static final long LEAST_BYTES = 1 << 20;
    /// More shares than threads, so that a thread that starts late or is delayed takes fewer of them.
    private static final int FOR_EACH_THREAD = 4;
    /// Owns no memory: what it may touch, every thread may.
    private static final Thread ANY_THREAD = Thread.ofVirtual().unstarted(() -> {});

    /// Work that consists of numbered units.
    interface Work {
        /// Does some adjacent units. Called by several threads at once, for different units.
        ///
        /// @param first the first unit
        /// @param end the one after the last
        void run(long first, long end);
    }

    private ParallelRanges() {}

    /// Does all units of some work, each once, by as many threads as are worth it.
    ///
    /// @param units the number of units
    /// @param unitBytes about how many bytes a unit takes, at least 1
    /// @param work the work to do; its result must not depend on how the units are distributed
    /// @param touched the memory that it reads and writes
    /// @throws RuntimeException the exception of the work, in any thread, unchanged; some units are not done then
    static void run(long units, long unitBytes, Work work, MemorySegment... touched) {
        int shares = (int) Math.min(units, Math.min(units * unitBytes / LEAST_BYTES, mostShares()));
        if (shares > 1 && Arrays.stream(touched).allMatch(bytes -> bytes.isAccessibleBy(ANY_THREAD))) {
            runShares(shares, units, work);
        } else {
            work.run(0, units);
        }
    }

    private static long mostShares() {
        int helpers = ForkJoinPool.getCommonPoolParallelism();
        return helpers == 0 ? 1 : FOR_EACH_THREAD * (helpers + 1L);
    }

    /// Keeps the exception, since the pool would throw a copy of it.
    private static void runShares(int shares, long units, Work work) {
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        IntStream.range(0, shares).parallel().forEach(share -> {
            try {
                work.run(start(share, shares, units), start(share + 1, shares, units));
            } catch (RuntimeException | Error e) {
                thrown.compareAndSet(null, e);
            }
        });
        switch (thrown.get()) {
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case null, default -> {
            }
        }
    }

    /// Returns the first unit of a share: sizes differ by one at most, for any number of units.
    private static long start(int share, int shares, long units) {
        return units / shares * share + Math.min(share, units % shares);
    }
}
