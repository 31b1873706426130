package io.undercroft.adapters;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DjlArraysTest {
    @TempDir
    private Path folder;

    @Test
    void anArrayShowsATensorOfAnOpenCheckpoint() throws IOException {
        Path file = folder.resolve("model.croft");
        Checkpoint.save(file, Map.of("w", Tensor.of(1f, 2, 3, 4, 5, 6).view(2, 3)));
        try (Checkpoint checkpoint = Checkpoint.open(file); NDManager manager = manager()) {
            Tensor w = checkpoint.tensor("w");
            NDArray array = DjlArrays.wrap(w, manager);
            w.setDouble(1, 2, 42);
            assertThat(array.getShape().getShape()).containsExactly(2, 3);
            assertThat(array.toFloatArray()).containsExactly(1, 2, 3, 4, 5, 42);
        }
    }

    @Test
    void theStorageIsHeldUntilTheManagerIsClosed() throws IOException {
        Path file = folder.resolve("held.croft");
        Checkpoint.save(file, Map.of("w", Tensor.of(1f, 2, 3)));
        Tensor w;
        try (NDManager manager = manager()) {
            NDArray array;
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                w = checkpoint.tensor("w");
                array = DjlArrays.wrap(w, manager);
            }
            assertThat(array.toFloatArray()).containsExactly(1, 2, 3);
            array.close();
            assertThat(w.storage().referenceCount()).isEqualTo(1);
        }
        assertThat(w.storage().referenceCount()).isZero();
    }

    @Test
    void dtypesThatTheEngineHasKeepTheirName() {
        Map<DType, DataType> there = Map.of(DType.FLOAT32, DataType.FLOAT32, DType.FLOAT64, DataType.FLOAT64,
                DType.FLOAT16, DataType.FLOAT16, DType.UINT8, DataType.UINT8, DType.INT8, DataType.INT8, DType.INT32,
                DataType.INT32, DType.INT64, DataType.INT64, DType.BOOL, DataType.BOOLEAN);
        try (NDManager manager = manager()) {
            there.forEach((here, theirs) -> {
                Tensor tensor = Tensor.zeros(here, 3);
                NDArray array = DjlArrays.wrap(tensor, manager);
                tensor.fill(1);
                assertThat(array.getDataType()).isEqualTo(theirs);
                assertThat(array.toByteArray()).as(here.name()).isEqualTo(tensor.view(DType.UINT8).toByteArray());
            });
        }
    }

    @Test
    void whatIsRefusedHoldsNothing() {
        try (NDManager manager = manager()) {
            for (DType dtype : List.of(DType.FLOAT8_E5M2, DType.UINT64, DType.COMPLEX64)) {
                Tensor tensor = Tensor.zeros(dtype, 2);
                assertThatThrownBy(() -> DjlArrays.wrap(tensor, manager))
                        .isInstanceOfAny(IllegalArgumentException.class, UnsupportedOperationException.class);
                assertThat(tensor.storage().referenceCount()).isEqualTo(1);
            }
        }
    }

    @Test
    void aManagerThatIsClosedHoldsNothing() {
        NDManager manager = manager();
        manager.close();
        Tensor tensor = Tensor.of(1f, 2);
        assertThatThrownBy(() -> DjlArrays.wrap(tensor, manager)).isInstanceOf(IllegalStateException.class);
        assertThat(tensor.storage().referenceCount()).isEqualTo(1);
    }

    private static NDManager manager() {
        return NDManager.newBaseManager("OnnxRuntime");
    }
}
