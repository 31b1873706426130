package io.undercroft.cli.internal.inspect;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Extent;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LeftOutTest {
    private static Extent extent(long offset, long length) {
        return new Extent(0, length, Extent.Place.FILE, 0, offset, length, Optional.empty());
    }

    @Test
    void shortGapsAreClosedAndLongOnesStay() {
        LeftOut leftOut = new LeftOut();
        leftOut.add(List.of(extent(1000, 100)));
        leftOut.add(List.of(extent(0, 100), extent(110, 10)));
        leftOut.add(List.of(new Extent(0, 8, Extent.Place.NOWHERE, 0, 0, 0, Optional.empty()),
                new Extent(0, 8, Extent.Place.BASE, 0, 5000, 8, Optional.empty())));

        assertThat(leftOut.ranges()).containsExactly(new long[]{0, 120}, new long[]{1000, 1100});
    }

    @Test
    void manyRangesAreMergedIntoFewThatCoverThem() {
        LeftOut leftOut = new LeftOut();
        for (long i = 0; i < 300_000; i++) {
            leftOut.add(List.of(extent(i * 1_000_000, 8)));
        }

        List<long[]> ranges = leftOut.ranges();

        assertThat(ranges).hasSizeLessThanOrEqualTo(10_000);
        assertThat(ranges.getFirst()[0]).isZero();
        assertThat(ranges.getLast()[1]).isEqualTo(299_999L * 1_000_000 + 8);
    }

    @Test
    void aLongGapStaysHoweverManyRangesAreBeforeIt() {
        LeftOut leftOut = new LeftOut();
        for (long i = 0; i < 1_000_000; i++) {
            leftOut.add(List.of(extent(i * 8, 8)));
        }
        leftOut.add(List.of(extent(1L << 40, 8)));

        assertThat(leftOut.ranges()).containsExactly(new long[]{0, 8_000_000},
                new long[]{1L << 40, (1L << 40) + 8});
    }

    @Test
    void moreRangesThanAreMergedSixtyTimesEnd() {
        LeftOut leftOut = new LeftOut();
        for (long i = 0; i < 1_300_000; i++) {
            leftOut.add(List.of(extent(i * 4096, 8)));
        }

        assertThat(leftOut.ranges()).hasSizeLessThanOrEqualTo(10_000);
    }
}
