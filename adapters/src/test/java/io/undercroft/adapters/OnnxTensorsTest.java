package io.undercroft.adapters;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OnnxTensorsTest {
    private static final OrtEnvironment ENVIRONMENT = OnnxModel.environment();

    @TempDir
    private Path folder;

    @Test
    void aModelRunsOnWeightsInAMappedFileAndWritesItsResultIntoATensor() throws IOException, OrtException {
        Path file = folder.resolve("weights.croft");
        Checkpoint.save(file, Map.of("w", Tensor.of(1f, 2, 3, 4, 5, 6).view(2, 3)));
        Tensor result = Tensor.zeros(DType.FLOAT32, 1, 3);
        try (Checkpoint checkpoint = Checkpoint.open(file);
                OrtSession session = ENVIRONMENT.createSession(OnnxModel.product(1, 2, 3));
                OnnxTensors.Wrapped w = OnnxTensors.wrap(checkpoint.tensor("w"), ENVIRONMENT);
                OnnxTensors.Wrapped x = OnnxTensors.wrap(Tensor.of(10f, 1).view(1, 2), ENVIRONMENT);
                OnnxTensors.Wrapped y = OnnxTensors.wrap(result, ENVIRONMENT)) {
            session.run(Map.of("x", x.tensor(), "w", w.tensor()), Set.of(), Map.of("y", y.tensor())).close();
            assertThat(result.toFloatArray()).containsExactly(14, 25, 36);

            checkpoint.tensor("w").setDouble(0, 0, 100);
            session.run(Map.of("x", x.tensor(), "w", w.tensor()), Set.of(), Map.of("y", y.tensor())).close();
            assertThat(result.toFloatArray()).containsExactly(1004, 25, 36);
        }
    }

    @Test
    void aWrappedTensorIsTheSameMemory() throws OrtException {
        for (DType dtype : List.of(DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16, DType.INT8, DType.INT16,
                DType.INT32, DType.INT64, DType.UINT8, DType.BOOL)) {
            Tensor tensor = Tensor.ones(dtype, 2, 3);
            try (OnnxTensors.Wrapped wrapped = OnnxTensors.wrap(tensor, ENVIRONMENT)) {
                assertThat(addressOf(wrapped.tensor())).as(dtype.name()).isEqualTo(tensor.dataPtr());
                tensor.fill(0);
                assertThat(MemorySegment.ofBuffer(wrapped.tensor().getByteBuffer()).mismatch(tensor.bytes()))
                        .isEqualTo(-1);
                assertThat(wrapped.tensor().getInfo().getShape()).containsExactly(2, 3);
                assertThat(OnnxTensors.asTensor(wrapped.tensor()).dtype()).isEqualTo(dtype);
            }
        }
    }

    @Test
    void aPartOfATensorBeginsWhereItLies() throws OrtException {
        Tensor row = Tensor.of(1f, 2, 3, 4).view(2, 2).select(0, 1);
        try (OnnxTensors.Wrapped wrapped = OnnxTensors.wrap(row, ENVIRONMENT)) {
            assertThat(wrapped.tensor().getFloatBuffer().array()).containsExactly(3, 4);
        }
    }

    @Test
    void aTensorMadeFromADirectBufferIsATensorHere() throws OrtException {
        Tensor bytes = Tensor.of(1f, 2, 3, 4);
        FloatBuffer buffer = bytes.asByteBuffer().asFloatBuffer();
        try (OnnxTensor theirs = OnnxTensor.createTensor(ENVIRONMENT, buffer, new long[]{2, 2})) {
            Tensor here = OnnxTensors.asTensor(theirs);
            here.setDouble(1, 0, 42);
            assertThat(here.dataPtr()).isEqualTo(bytes.dataPtr());
            assertThat(theirs.getFloatBuffer().get(2)).isEqualTo(42);
        }
        try (OnnxTensor theirs = OnnxTensor.createTensor(ENVIRONMENT, new float[][]{{1, 2}})) {
            assertThat(OnnxTensors.asTensor(theirs).toFloatArray()).containsExactly(1, 2);
        }
    }

    /// ONNX Runtime takes the bytes as this machine would, whatever order a buffer says it has.
    @Test
    void theMemoryIsTheSameWhateverTheBufferSaysOfIt() throws OrtException {
        ByteBuffer buffer = ByteBuffer.allocateDirect(24).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < 6; i++) {
            buffer.putFloat(4 * i, i);
        }
        buffer.order(ByteOrder.BIG_ENDIAN).position(4).limit(20);
        try (OnnxTensor theirs = OnnxTensor.createTensor(ENVIRONMENT, buffer, new long[]{4}, OnnxJavaType.FLOAT)) {
            assertThat(theirs.getFloatBuffer().array()).containsExactly(1, 2, 3, 4);
            assertThat(OnnxTensors.asTensor(theirs).toFloatArray()).containsExactly(1, 2, 3, 4);
            buffer.getFloat();
            assertThatThrownBy(() -> OnnxTensors.asTensor(theirs)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("12 bytes left, not 16");
            buffer.position(4);
            assertThat(OnnxTensors.asTensor(theirs).toFloatArray()).containsExactly(1, 2, 3, 4);
        }
    }

    @Test
    void whatASessionAllocatedIsNotShown() throws OrtException {
        Tensor ones = Tensor.ones(DType.FLOAT32, 1, 1);
        try (OrtSession session = ENVIRONMENT.createSession(OnnxModel.product(1, 1, 1));
                OnnxTensors.Wrapped x = OnnxTensors.wrap(ones, ENVIRONMENT);
                OrtSession.Result result = session.run(Map.of("x", x.tensor(), "w", x.tensor()))) {
            OnnxTensor y = (OnnxTensor) result.get(0);
            assertThatThrownBy(() -> OnnxTensors.asTensor(y)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("wrapped tensor as the output");
        }
    }

    @Test
    void anEmptyTensorIsEmptyThere() throws OrtException {
        try (OnnxTensors.Wrapped wrapped = OnnxTensors.wrap(Tensor.zeros(DType.FLOAT32, 0, 3), ENVIRONMENT)) {
            assertThat(wrapped.tensor().getInfo().getShape()).containsExactly(0, 3);
        }
    }

    @Test
    void theStorageIsHeldUntilTheWrappedTensorIsClosed() throws IOException, OrtException {
        Path file = folder.resolve("held.croft");
        Checkpoint.save(file, Map.of("w", Tensor.of(1f, 2, 3)));
        OnnxTensors.Wrapped wrapped;
        Tensor w;
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            w = checkpoint.tensor("w");
            wrapped = OnnxTensors.wrap(w, ENVIRONMENT);
        }
        assertThat(wrapped.tensor().getFloatBuffer().get(2)).isEqualTo(3);
        wrapped.close();
        wrapped.close();
        assertThat(w.storage().referenceCount()).isZero();
        assertThat(wrapped.tensor().isClosed()).isTrue();
    }

    @Test
    void whatIsRefusedHoldsNothing() {
        Tensor complex = Tensor.zeros(DType.COMPLEX64, 2);
        assertThatThrownBy(() -> OnnxTensors.wrap(complex, ENVIRONMENT)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("ONNX Runtime has no elements of complex64")
                .hasMessageContaining("float32");
        assertThat(complex.storage().referenceCount()).isEqualTo(1);
    }

    private static long addressOf(OnnxTensor tensor) {
        return MemorySegment.ofBuffer(tensor.getBufferRef().orElseThrow()).address();
    }
}
