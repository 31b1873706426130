package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

/// Sizes followed by strides.
class GeometryTest {
    @Test
    void theFirstNegativeSizeOrElseTheFirstNegativeStrideIsNamed() {
        assertRefused("size -2 of dimension 1 is negative", 3, -2, -1, 1, 1, 1);
        assertRefused("size -2 of dimension 1 is negative", 0, -2, 1, -1);
        assertRefused("the stride -4 is negative", 3, 0, 2, -4, -5, 1);
        assertRefused("the stride -9223372036854775808 is negative", 3, Long.MIN_VALUE);
        assertThat(Geometry.numel(new long[]{3, 2, 0, 0})).isEqualTo(6);
        assertThat(Geometry.numel(new long[]{3, 0, Long.MAX_VALUE, Long.MAX_VALUE, 1, 1})).isZero();
    }

    @Test
    void thereAreAtMost64Dimensions() {
        long[] most = new long[128];
        Arrays.fill(most, 1);

        assertThat(Geometry.numel(most)).isOne();
        assertRefused("65 dimensions", new long[130]);
    }

    private static void assertRefused(String why, long... geometry) {
        assertThatIllegalArgumentException().isThrownBy(() -> Geometry.numel(geometry)).withMessageContaining(why);
    }

    @Test
    void windowsHaveAnySizeUpToThatOfTheDimension() {
        Tensor tensor = Tensor.of(Storage.allocate(12), DType.FLOAT32, 0, Shape.of(3));

        assertThat(tensor.unfold(0, 0, 1).shape()).isEqualTo(Shape.of(4, 0));
        assertThat(tensor.unfold(0, 3, 1).shape()).isEqualTo(Shape.of(1, 3));
        assertThatIllegalArgumentException().isThrownBy(() -> tensor.unfold(0, -1, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> tensor.unfold(0, 4, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> tensor.unfold(0, 1, 0));
    }

    @Test
    void diagonalsThatLeaveTheTensorAreEmptyAtAnyOffset() {
        Tensor tensor = Tensor.of(Storage.allocate(24), DType.FLOAT32, 0, Shape.of(2, 3));

        assertThat(tensor.diagonal(0, 0, 1).storageOffset()).isZero();
        assertThat(tensor.diagonal(2, 0, 1).storageOffset()).isEqualTo(2);
        assertThat(tensor.diagonal(-1, 0, 1).storageOffset()).isEqualTo(3);
        for (long offset : new long[]{3, Long.MAX_VALUE, -2, Long.MIN_VALUE}) {
            assertThat(tensor.diagonal(offset, 0, 1).shape()).isEqualTo(Shape.of(0));
        }
    }
}
