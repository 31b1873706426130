package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ShapeTest {
    @Test
    void aShapeHasSizesRankAndNumel() {
        Shape shape = Shape.of(2, 3, 4);
        assertThat(shape.rank()).isEqualTo(3);
        assertThat(shape.numel()).isEqualTo(24);
        assertThat(shape.size(-1)).isEqualTo(4);
        assertThat(shape.toArray()).containsExactly(2, 3, 4);
        assertThat(shape.contiguousStride()).containsExactly(12, 4, 1);
        assertThat(shape).isEqualTo(Shape.of(2, 3, 4)).hasSameHashCodeAs(Shape.of(2, 3, 4))
                .isNotEqualTo(Shape.of(2, 12));
    }

    @Test
    void noDimensionIsOneElement() {
        assertThat(Shape.of()).isSameAs(Shape.SCALAR);
        assertThat(Shape.SCALAR.numel()).isEqualTo(1);
    }

    @Test
    void aSizeOfZeroCountsAsOneInStrides() {
        assertThat(Shape.of(2, 0, 3).contiguousStride()).containsExactly(3, 3, 1);
        assertThat(Shape.of(2, 0, 3).numel()).isZero();
    }

    @Test
    void sizesAreCheckedAndSummedExactly() {
        assertThatThrownBy(() -> Shape.of(2, -3)).isInstanceOf(IllegalArgumentException.class)
                .hasMessage("size -3 of dimension 1 is negative");
        assertThatThrownBy(() -> Shape.of(1L << 32, 1L << 31)).isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the shape [4294967296, 2147483648] has more than 2^63-1 elements");
        assertThatThrownBy(() -> Shape.of(new long[65])).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("64");
        assertThat(Shape.of(Long.MAX_VALUE, Long.MAX_VALUE, 0).numel()).isZero();
        assertThatThrownBy(() -> Shape.of(0, Long.MAX_VALUE, Long.MAX_VALUE).contiguousStride())
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void dimensionsAreCheckedFromBothEnds() {
        assertThatThrownBy(() -> Shape.of(1, 2).size(2)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> Shape.of(1, 2).size(-3)).isInstanceOf(IndexOutOfBoundsException.class)
                .hasMessage("dimension -3 of a tensor that has 2");
    }

    @Test
    void theCallersArrayIsNotKept() {
        long[] sizes = {2, 3};
        Shape shape = Shape.of(sizes);
        sizes[0] = 9;
        shape.toArray()[1] = 9;
        assertThat(shape).isEqualTo(Shape.of(2, 3));
    }
}
