package io.undercroft.mmap.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ByteRangesTest {
    private static final int SIZE = 200;

    @Test
    void rangesAreTheBytesThatWereAdded() {
        Random random = new Random(7);
        for (int round = 0; round < 200; round++) {
            RangeCache.ByteRanges ranges = new RangeCache.ByteRanges();
            BitSet bytes = new BitSet();
            for (int added = 0; added < 12; added++) {
                int start = random.nextInt(SIZE);
                int end = Math.min(SIZE, start + random.nextInt(20));
                ranges.add(start, end);
                bytes.set(start, end);
                check(ranges, bytes);
            }
        }
    }

    private static void check(RangeCache.ByteRanges ranges, BitSet bytes) {
        for (int start = 0; start < SIZE; start++) {
            assertThat(ranges.nextAbsent(start)).isEqualTo(bytes.nextClearBit(start));
            if (!bytes.get(start)) {
                int next = bytes.nextSetBit(start);
                assertThat(ranges.nextPresent(start)).isEqualTo(next < 0 ? Long.MAX_VALUE : next);
            }
            for (int end = start; end < Math.min(SIZE, start + 30); end++) {
                int count = bytes.get(start, end).cardinality();
                assertThat(ranges.contains(start, end)).isEqualTo(count == end - start);
                assertThat(ranges.intersects(start, end)).isEqualTo(count > 0);
            }
        }
    }

    @Test
    void offsetsMayBeAsLargeAsThoseOfFiles() {
        RangeCache.ByteRanges ranges = new RangeCache.ByteRanges();
        ranges.add(1L << 50, (1L << 50) + 10);
        ranges.add(Long.MAX_VALUE - 10, Long.MAX_VALUE);

        assertThat(ranges.contains(1L << 50, (1L << 50) + 10)).isTrue();
        assertThat(ranges.nextPresent(7)).isEqualTo(1L << 50);
        assertThat(ranges.intersects(Long.MAX_VALUE - 11, Long.MAX_VALUE - 9)).isTrue();
        assertThat(ranges.contains(Long.MAX_VALUE - 11, Long.MAX_VALUE)).isFalse();
    }
}
