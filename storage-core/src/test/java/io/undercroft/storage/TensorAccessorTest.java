package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class TensorAccessorTest {
    static List<DType> dtypes() {
        return List.of(DType.FLOAT64, DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.INT64, DType.INT32,
                DType.INT8, DType.UINT8, DType.UINT64, DType.BOOL, DType.COMPLEX64);
    }

    @ParameterizedTest
    @MethodSource("dtypes")
    void elementsOfEveryDtypeAndStrideAreReadAsTheTensorReadsThem(DType dtype) {
        Tensor numbers = Tensor.arange(DType.FLOAT64, -3, 21, 1).to(dtype).view(4, 6);
        for (Tensor matrix : List.of(numbers, numbers.t(), numbers.slice(1, 1, 6, 2), numbers.narrow(0, 1, 2))) {
            TensorAccessor accessor = matrix.accessor();
            for (long i = 0; i < matrix.size(0); i++) {
                for (long j = 0; j < matrix.size(1); j++) {
                    assertThat(accessor.getFloat(i, j)).isEqualTo(matrix.getFloat(i, j));
                    assertThat(accessor.getDouble(i, j)).isEqualTo(matrix.getDouble(i, j));
                    assertThat(accessor.getLong(i, j)).isEqualTo(matrix.getLong(i, j));
                }
                Tensor row = matrix.select(0, i);
                assertThat(row.accessor().getFloat(1)).isEqualTo(row.getFloat(1));
                assertThat(row.accessor().getDouble(1)).isEqualTo(row.getDouble(1));
                assertThat(row.accessor().getLong(1)).isEqualTo(row.getLong(1));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("dtypes")
    void elementsOfEveryDtypeAndStrideAreWrittenAsTheTensorWritesThem(DType dtype) {
        Tensor ours = Tensor.zeros(dtype, 6, 4);
        Tensor wanted = Tensor.zeros(dtype, 6, 4);
        TensorAccessor columns = ours.t().accessor();
        double[] values = {1.5, -2.75, 300.7};
        for (int i = 0; i < values.length; i++) {
            columns.setDouble(0, i, values[i]);
            wanted.t().setDouble(0, i, values[i]);
            columns.setFloat(1, i, (float) values[i]);
            wanted.t().setFloat(1, i, (float) values[i]);
            columns.setLong(2, i, 1L << (20 * i));
            wanted.t().setLong(2, i, 1L << (20 * i));
            ours.select(1, 3).accessor().setDouble(i, values[i]);
            ours.select(1, 3).accessor().setFloat(i + 1, (float) values[i]);
            ours.select(1, 3).accessor().setLong(i + 2, i);
            wanted.select(1, 3).setDouble(i, values[i]);
            wanted.select(1, 3).setFloat(i + 1, (float) values[i]);
            wanted.select(1, 3).setLong(i + 2, i);
        }
        assertThat(ours.contentEquals(wanted)).isTrue();
        assertThat(ours.getDouble(0, 0)).isNotZero();
    }

    @Test
    void negatedElementsAreReadAndWrittenNegated() {
        Tensor stored = Tensor.of(1f, 2f);
        TensorAccessor negated = stored.neg().accessor();
        assertThat(negated.getFloat(1)).isEqualTo(-2);
        negated.setFloat(0, 5);
        assertThat(stored.getFloat(0)).isEqualTo(-5);
    }

    @Test
    void indicesOutsideTheTensorAndOfOtherCountsAreRefused() {
        Tensor numbers = Tensor.arange(DType.FLOAT32, 12);
        TensorAccessor middle = numbers.narrow(0, 3, 4).accessor();
        TensorAccessor matrix = numbers.view(3, 4).accessor();
        assertThat(middle.size(0)).isEqualTo(4);
        assertThat(matrix.size(-1)).isEqualTo(4);
        for (long i : new long[]{-1, 4, Long.MAX_VALUE, Long.MIN_VALUE}) {
            assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> middle.getFloat(i));
            assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> matrix.setLong(i, 0, 1));
            assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> matrix.getDouble(0, i));
        }
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> matrix.getFloat(0))
                .withMessage("1 index for a tensor with 2 dimensions");
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> middle.getFloat(0, 0));
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
                .isThrownBy(() -> Tensor.zeros(DType.INT64, 0).accessor().getLong(0));
    }

    @Test
    void tensorsOfOtherDimensionsHaveNoAccessor() {
        assertThatIllegalArgumentException().isThrownBy(() -> Tensor.zeros(DType.FLOAT32, 2, 2, 2).accessor())
                .withMessageContaining("[2, 2, 2]").withMessageContaining("flatten() or select()");
        assertThatIllegalArgumentException().isThrownBy(() -> Tensor.scalar(1.0).accessor());
    }

    @Test
    void elementsThatCannotBeReachedAreRefusedAsByTheTensor() {
        assertThatIllegalStateException().isThrownBy(() -> Tensor.meta(DType.FLOAT32, 2).accessor());
        Tensor opaque = Tensor.zeros(DType.UINT8, 2).view(DType.FLOAT4_E2M1FN_X2);
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> opaque.accessor().getDouble(0));
    }

    @Test
    void elementsOfReadOnlyStoragesAreReadAndNotWritten() {
        try (Arena arena = Arena.ofConfined()) {
            Storage storage = Storage.wrap(arena.allocate(8).fill((byte) 0).asReadOnly());
            TensorAccessor accessor = Tensor.of(storage, DType.FLOAT32, 0, Shape.of(2)).accessor();
            assertThat(accessor.getFloat(1)).isZero();
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> accessor.setFloat(0, 1))
                    .withMessageContaining("read-only");
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> accessor.setLong(0, 1));
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> accessor.setDouble(0, 1));
        }
    }
}
