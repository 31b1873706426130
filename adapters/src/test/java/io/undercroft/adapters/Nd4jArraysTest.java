package io.undercroft.adapters;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

class Nd4jArraysTest {
    private static final int GARBAGE_COLLECTIONS = 200;

    @TempDir
    private Path folder;

    @Test
    void anArrayCalculatesOnATensorOfAMappedFile() throws IOException {
        Path file = folder.resolve("model.croft");
        Checkpoint.save(file, Map.of("w", Tensor.of(1f, 2, 3, 4, 5, 6).view(2, 3)));
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            Tensor w = checkpoint.tensor("w");
            INDArray array = Nd4jArrays.lend(w);
            assertThat(array.data().address()).isEqualTo(w.dataPtr());
            w.setDouble(0, 0, 42);
            assertThat(array.getFloat(0, 0)).isEqualTo(42);
            array.addi(1);
            assertThat(w.toFloatArray()).containsExactly(43, 3, 4, 5, 6, 7);
            assertThat(array.mmul(Nd4j.ones(3, 1)).toFloatVector()).containsExactly(50, 18);
        }
    }

    @Test
    void everyDtypeComesBack() {
        for (DType dtype : List.of(DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64, DType.INT8, DType.INT16,
                DType.INT32, DType.INT64, DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64, DType.BOOL)) {
            Tensor tensor = Tensor.ones(dtype, 2, 3);
            INDArray array = Nd4jArrays.lend(tensor);
            Tensor back = Nd4jArrays.tensor(array);
            assertThat(back.dtype()).isEqualTo(dtype);
            assertThat(back.dataPtr()).as(dtype.name()).isEqualTo(tensor.dataPtr());
            assertThat(back.shape()).isEqualTo(tensor.shape());
            tensor.fill(0);
            assertThat(array.getDouble(1, 2)).as(dtype.name()).isZero();
        }
    }

    @Test
    void anArrayOfAnyStridesIsATensor() {
        INDArray array = Nd4j.arange(12).castTo(org.nd4j.linalg.api.buffer.DataType.FLOAT).reshape(3, 4);
        Tensor whole = Nd4jArrays.tensor(array);
        whole.setDouble(1, 2, 42);
        assertThat(array.getFloat(1, 2)).isEqualTo(42);

        assertThat(Nd4jArrays.tensor(array.transpose()).toFloatArray())
                .containsExactly(whole.transpose(0, 1).toFloatArray());
        INDArray part = array.get(NDArrayIndex.interval(1, 3), NDArrayIndex.interval(1, 3));
        assertThat(Nd4jArrays.tensor(part).toFloatArray()).containsExactly(5, 42, 9, 10);
        assertThat(Nd4jArrays.tensor(Nd4j.scalar(7f)).getFloat()).isEqualTo(7);
        assertThatThrownBy(() -> Nd4jArrays.tensor(Nd4j.empty())).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no elements");
    }

    @Test
    void theStorageIsHeldUntilNobodyReachesTheArray() throws IOException, InterruptedException {
        Path file = folder.resolve("held.croft");
        Checkpoint.save(file, Map.of("w", Tensor.of(1f, 2, 3)));
        Storage storage = lendAndClose(file);
        for (int i = 0; i < GARBAGE_COLLECTIONS && storage.referenceCount() > 0; i++) {
            System.gc();
            Thread.sleep(10);
        }
        assertThat(storage.referenceCount()).isZero();
    }

    private static Storage lendAndClose(Path file) throws IOException {
        INDArray array;
        Storage storage;
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            storage = checkpoint.tensor("w").storage();
            array = Nd4jArrays.lend(checkpoint.tensor("w"));
        }
        assertThat(array.sumNumber().floatValue()).isEqualTo(6);
        assertThat(storage.referenceCount()).isEqualTo(1);
        array.close();
        return storage;
    }

    @Test
    void complexElementsAreRefused() {
        assertThatThrownBy(() -> Nd4jArrays.lend(Tensor.zeros(DType.COMPLEX64, 2)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("ND4J has no elements of complex64");
    }
}
