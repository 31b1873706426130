package io.undercroft.mmap.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.mmap.ReadAdvice;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReadAheadTest {
    private static final long KIB = 1 << 10;
    private static final long SIZE = 64 << 20;

    private final List<Advice> given = new ArrayList<>();
    private final ReadAhead ahead = new ReadAhead(SIZE, (offset, length, advice) -> given
            .add(new Advice(offset, length, advice)));

    private record Advice(long offset, long length, ReadAdvice advice) {
        static final Advice RANDOM = new Advice(0, SIZE, ReadAdvice.RANDOM);
        static final Advice NORMAL = new Advice(0, SIZE, ReadAdvice.NORMAL);

        static Advice needed(long offset, long length) {
            return new Advice(offset, length, ReadAdvice.WILL_NEED);
        }
    }

    @Test
    void aFewSmallPartsAreRequestedOneByOne() {
        ahead.use(1024 * KIB, 64 * KIB);
        ahead.use(512 * KIB, 4 * KIB);
        assertThat(given).containsExactly(Advice.RANDOM, Advice.needed(1024 * KIB, 64 * KIB),
                Advice.needed(512 * KIB, 4 * KIB));
    }

    @Test
    void partsInTheOrderOfTheFileAreReadAsUsual() {
        ahead.use(64 * KIB, 64 * KIB);
        ahead.use(128 * KIB + 64, 64 * KIB);
        ahead.use(SIZE / 2, KIB);
        assertThat(given).containsExactly(Advice.RANDOM, Advice.needed(64 * KIB, 64 * KIB), Advice.NORMAL);
    }

    @Test
    void aLargePartIsReadAsUsual() {
        ahead.use(0, 4096 * KIB);
        ahead.use(SIZE / 2, KIB);
        assertThat(given).containsExactly(Advice.RANDOM, Advice.NORMAL);
    }

    @Test
    void manyPartsAreReadAsUsual() {
        for (int part = 100; part > 0; part--) {
            ahead.use(part * 256L * KIB, KIB);
        }
        assertThat(given).hasSize(10).last().isEqualTo(Advice.NORMAL);
    }

    @Test
    void nothingIsAdvisedOnASmallFile() {
        new ReadAhead(1024 * KIB, (_, _, _) -> {
            throw new AssertionError();
        }).use(512 * KIB, KIB);
    }
}
