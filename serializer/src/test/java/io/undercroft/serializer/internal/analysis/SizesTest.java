package io.undercroft.serializer.internal.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class SizesTest {
    @Test
    void aSumHasAMaximum() {
        assertThat(Sizes.sum(LongStream.empty())).isZero();
        assertThat(Sizes.sum(LongStream.of(1, 2, 3))).isEqualTo(6);
        assertThat(Sizes.sum(LongStream.of(1L << 62, 1L << 62, 5, 1L << 62))).isEqualTo(Long.MAX_VALUE);
        assertThat(Sizes.sum(Long.MAX_VALUE, 0)).isEqualTo(Long.MAX_VALUE);
    }
}
