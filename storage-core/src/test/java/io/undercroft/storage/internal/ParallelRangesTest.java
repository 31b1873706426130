package io.undercroft.storage.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ParallelRangesTest {
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 7, 100, 1001})
    void everyUnitIsDoneOnce(int units) {
        AtomicIntegerArray done = new AtomicIntegerArray(units);
        ParallelRanges.run(units, ParallelRanges.LEAST_BYTES, (first, end) -> {
            for (long unit = first; unit < end; unit++) {
                done.incrementAndGet((int) unit);
            }
        });
        for (int unit = 0; unit < units; unit++) {
            assertThat(done.get(unit)).isEqualTo(1);
        }
    }

    @Test
    void workOfLessThanTwoSharesIsDoneAtOnce() {
        AtomicInteger runs = new AtomicInteger();
        ParallelRanges.run(2 * ParallelRanges.LEAST_BYTES - 1, 1, (first, end) -> runs.incrementAndGet());
        assertThat(runs).hasValue(1);
    }

    @Test
    void memoryOfOneThreadStaysWithIt() {
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = arena.allocate(8);
            ParallelRanges.run(100, ParallelRanges.LEAST_BYTES, (first, end) -> threads.add(Thread.currentThread()),
                    bytes);
        }
        assertThat(threads).containsExactly(Thread.currentThread());
    }

    @Test
    void whatIsThrownArrivesAsItIs() {
        IllegalStateException thrown = new IllegalStateException("the last unit");
        assertThat(catchThrowable(() -> ParallelRanges.run(100, ParallelRanges.LEAST_BYTES, (first, end) -> {
            if (end == 100) {
                throw thrown;
            }
        }))).isSameAs(thrown);
        OutOfMemoryError error = new OutOfMemoryError("the first unit");
        assertThat(catchThrowable(() -> ParallelRanges.run(100, ParallelRanges.LEAST_BYTES, (first, end) -> {
            if (first == 0) {
                throw error;
            }
        }))).isSameAs(error);
    }
}
