package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.SparseCooTensor.Coalescence;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SparseTensorTest {
    private static final Shape TWO_BY_THREE = Shape.of(2, 3);
    private static final Tensor VALUES = Tensor.of(3f, 4f, 5f);

    static List<HolderCases.Sparse> whatPyTorchAnswers() {
        return HolderCases.sparse();
    }

    @ParameterizedTest
    @MethodSource("whatPyTorchAnswers")
    void sparseTensorsBecomeDenseAsInPyTorch(HolderCases.Sparse expected) {
        Tensor dense = expected.tensor().toDense();
        assertThat(dense.contentEquals(expected.dense())).as("%s, not %s", dense, expected.dense()).isTrue();
    }

    static List<HolderCases.Invariants> invariants() {
        return HolderCases.invariants();
    }

    @ParameterizedTest
    @MethodSource("invariants")
    void whatPyTorchRefusesIsRefused(HolderCases.Invariants expected) {
        if (expected.taken()) {
            assertThatCode(() -> expected.tensor().validate()).doesNotThrowAnyException();
        } else {
            assertThatIllegalArgumentException().isThrownBy(() -> expected.tensor().validate());
        }
    }

    @Test
    void aCoordinateTensorKnowsItsParts() {
        SparseCooTensor coo = new SparseCooTensor(indices(2, 0, 1, 1, 2, 0, 2), Tensor.zeros(DType.INT16, 3, 4),
                Shape.of(2, 3, 4), Coalescence.COALESCED);
        assertThat(coo.layout()).isEqualTo(Layout.SPARSE_COO);
        assertThat(coo.nnz()).isEqualTo(3);
        assertThat(coo.sparseDim()).isEqualTo(2);
        assertThat(coo.denseDim()).isEqualTo(1);
        assertThat(coo.dtype()).isEqualTo(DType.INT16);
        assertThat(coo.device()).isEqualTo(Device.CPU);
    }

    @Test
    void coordinatesThatDoNotFitAreRefusedWithTheNumbers() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> coo(Tensor.of(0, 1).view(1, 2), VALUES, TWO_BY_THREE)).withMessageContaining("int32");
        assertThatIllegalArgumentException().isThrownBy(() -> coo(Tensor.of(0L), VALUES, TWO_BY_THREE))
                .withMessageContaining("[1]");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> coo(indices(2, 0, 1, 0, 1), VALUES, TWO_BY_THREE)).withMessageContaining("[2, 2]")
                .withMessageContaining("[3]");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> coo(indices(1, 0, 1, 1), VALUES, TWO_BY_THREE)).withMessageContaining("[2, 3]")
                .withMessageContaining("1 sparse");
        Tensor onMeta = Tensor.meta(DType.FLOAT32, 3);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> coo(indices(2, 0, 1, 1, 2, 0, 2), onMeta, TWO_BY_THREE))
                .withMessageContaining("meta");
    }

    @Test
    void aWrongIndexIsFoundBeforeAnythingIsWritten() {
        SparseCooTensor high = coo(indices(2, 0, 1, 1, 2, 3, 2), VALUES, TWO_BY_THREE);
        assertThatIllegalArgumentException().isThrownBy(high::validate)
                .withMessage("index 3 of entry 1 is outside dimension 1 of the shape [2, 3]");
        assertThatIllegalArgumentException().isThrownBy(high::toDense);
        SparseCooTensor negative = coo(indices(2, 0, 1, -1, 2, 1, 2), VALUES, TWO_BY_THREE);
        assertThatIllegalArgumentException().isThrownBy(negative::toDense).withMessageContaining("index -1 of entry 2");
    }

    @Test
    void indicesThatAreOnlySaidToBeCoalescedAreRefused() {
        for (Tensor indices : List.of(indices(2, 0, 1, 1, 2, 2, 0), indices(2, 0, 1, 1, 2, 0, 0))) {
            SparseCooTensor claimed = new SparseCooTensor(indices, VALUES, TWO_BY_THREE, Coalescence.COALESCED);
            assertThatIllegalArgumentException().isThrownBy(claimed::validate).withMessageContaining("number 2");
        }
    }

    @Test
    void dimensionsThatCannotBeCountedAreRefused() {
        Tensor none = Tensor.zeros(DType.FLOAT32, 1, 0);
        SparseCooTensor huge = coo(indices(3, 1, 1, 1), none, Shape.of(1L << 40, 1L << 40, 2, 0));
        assertThatIllegalArgumentException().isThrownBy(huge::validate).withMessageContaining("2^63-1");
    }

    @Test
    void elementsWithoutNumbersCannotBeSummed() {
        SparseCooTensor bits = coo(indices(1, 0), Tensor.zeros(DType.BITS8, 1), Shape.of(2));
        assertThatThrownBy(bits::toDense).isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("bits8");
    }

    @Test
    void aCompressedTensorKnowsItsParts() {
        SparseCompressedTensor csr = csr(Tensor.of(0L, 1L, 3L), Tensor.of(2L, 0L, 2L), TWO_BY_THREE);
        assertThat(csr.nnz()).isEqualTo(3);
        assertThat(csr.sparseDim()).isEqualTo(2);
        assertThat(csr.denseDim()).isZero();
        assertThat(csr.batchDim()).isZero();
    }

    @Test
    void aTensorOfBlocksKnowsItsParts() {
        SparseCompressedTensor bsc = new SparseCompressedTensor(Layout.SPARSE_BSC, Tensor.zeros(DType.INT64, 5, 3),
                Tensor.zeros(DType.INT64, 5, 0), Tensor.zeros(DType.INT8, 5, 0, 2, 4, 7), Shape.of(5, 6, 8, 7));
        assertThat(bsc.nnz()).isZero();
        assertThat(bsc.batchDim()).isEqualTo(1);
        assertThat(bsc.denseDim()).isEqualTo(1);
        bsc.validate();
        assertThat(bsc.toDense().shape()).isEqualTo(Shape.of(5, 6, 8, 7));
    }

    @Test
    void compressedPartsThatDoNotFitAreRefusedWithTheNumbers() {
        Tensor rows = Tensor.of(0L, 1L, 3L);
        Tensor columns = Tensor.of(2L, 0L, 2L);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new SparseCompressedTensor(Layout.SPARSE_COO, rows, columns, VALUES, TWO_BY_THREE))
                .withMessageContaining("sparse_coo");
        assertThatIllegalArgumentException().isThrownBy(() -> csr(Tensor.of(0, 1, 3), columns, TWO_BY_THREE))
                .withMessageContaining("int32 and int64");
        assertThatIllegalArgumentException().isThrownBy(() -> csr(rows.view(1, 3), columns, TWO_BY_THREE))
                .withMessageContaining("[1, 3]").withMessageContaining("[3]");
        assertThatIllegalArgumentException().isThrownBy(() -> csr(rows, columns, Shape.of(3, 3)))
                .withMessageContaining("3 compressed indices for 3 rows");
        assertThatIllegalArgumentException().isThrownBy(() -> csr(rows, Tensor.of(1L), TWO_BY_THREE))
                .withMessageContaining("[1]").withMessageContaining("[3]");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new SparseCompressedTensor(Layout.SPARSE_BSR, rows, columns,
                        Tensor.zeros(DType.INT8, 3, 2, 2), Shape.of(4, 7)))
                .withMessage("blocks of 2 rows and 2 columns do not fill 4 rows and 7 columns");
    }

    @Test
    void wrongCompressedIndicesAreFoundBeforeAnythingIsRead() {
        Tensor columns = Tensor.of(2L, 0L, 2L);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> csr(Tensor.of(1L, 1L, 3L), columns, TWO_BY_THREE).toDense())
                .withMessageContaining("go from 1 to 3, not from 0 to nnz, 3");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> csr(Tensor.of(0L, 1L, 2L), columns, TWO_BY_THREE).toDense())
                .withMessageContaining("go from 0 to 2");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> csr(Tensor.of(0L, 4L, 3L), columns, TWO_BY_THREE).toDense())
                .withMessageContaining("go from 0 to 4 at 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> csr(Tensor.of(0L, -1L, 3L), columns, TWO_BY_THREE).toDense())
                .withMessageContaining("go from 0 to -1 at 0");
        Tensor rows = Tensor.of(0L, 1L, 3L);
        assertThatIllegalArgumentException().isThrownBy(() -> csr(rows, Tensor.of(2L, 0L, 3L), TWO_BY_THREE).toDense())
                .withMessage("plain index 3 of entry 2 in batch 0 is outside 0 to 2");
        assertThatIllegalArgumentException().isThrownBy(() -> csr(rows, Tensor.of(-1L, 0L, 2L), TWO_BY_THREE).toDense())
                .withMessageContaining("plain index -1 of entry 0");
        assertThatIllegalArgumentException().isThrownBy(() -> csr(rows, Tensor.of(2L, 1L, 1L), TWO_BY_THREE).toDense())
                .withMessage("plain index 1 of entry 2 in batch 0 is after 1; they must ascend");
    }

    @Test
    void onTheMetaDeviceThereAreShapesOnly() {
        SparseCooTensor coo = coo(Tensor.meta(DType.INT64, 2, 3), Tensor.meta(DType.FLOAT64, 3), TWO_BY_THREE);
        coo.validate();
        assertThat(coo.toDense().device()).isEqualTo(Device.META);
        assertThat(coo.toDense().shape()).isEqualTo(TWO_BY_THREE);
        SparseCompressedTensor csr = new SparseCompressedTensor(Layout.SPARSE_CSR, Tensor.meta(DType.INT64, 3),
                Tensor.meta(DType.INT64, 3), Tensor.meta(DType.FLOAT32, 3), TWO_BY_THREE);
        csr.validate();
        assertThat(csr.toDense().device()).isEqualTo(Device.META);
    }

    private static Tensor indices(int rows, long... values) {
        return Tensor.of(values).view(rows, values.length / rows);
    }

    private static SparseCooTensor coo(Tensor indices, Tensor values, Shape shape) {
        return new SparseCooTensor(indices, values, shape, Coalescence.UNCOALESCED);
    }

    private static SparseCompressedTensor csr(Tensor rows, Tensor columns, Shape shape) {
        return new SparseCompressedTensor(Layout.SPARSE_CSR, rows, columns, VALUES, shape);
    }
}
