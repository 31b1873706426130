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
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.OutOfMemoryException;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.util.TransferPair;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArrowVectorsTest {
    @TempDir
    private Path folder;

    @Test
    void aVectorShowsATensorOfAMappedFile() throws IOException {
        Path file = folder.resolve("column.croft");
        Checkpoint.save(file, Map.of("c", Tensor.of(1f, 2, 3, 4).view(2, 2)));
        try (Checkpoint checkpoint = Checkpoint.open(file); BufferAllocator allocator = new RootAllocator()) {
            Tensor c = checkpoint.tensor("c");
            try (Float4Vector vector = (Float4Vector) ArrowVectors.wrap(c, "c", allocator)) {
                assertThat(vector.getDataBufferAddress()).isEqualTo(c.dataPtr());
                c.setDouble(1, 0, 42);
                vector.set(3, 43);
                assertThat(vector.getValueCount()).isEqualTo(4);
                assertThat(vector.getNullCount()).isZero();
                assertThat(vector.get(2)).isEqualTo(42);
                assertThat(c.getFloat(1, 1)).isEqualTo(43);
            }
        }
    }

    @Test
    void everyDtypeComesBack() {
        try (BufferAllocator allocator = new RootAllocator()) {
            for (DType dtype : List.of(DType.FLOAT16, DType.FLOAT32, DType.FLOAT64, DType.INT8, DType.INT16,
                    DType.INT32,
                    DType.INT64, DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64)) {
                Tensor tensor = Tensor.arange(dtype, 5);
                try (BaseFixedWidthVector vector = ArrowVectors.wrap(tensor, "x", allocator)) {
                    Tensor back = ArrowVectors.asTensor(vector);
                    assertThat(back.dataPtr()).isEqualTo(tensor.dataPtr());
                    assertThat(back.contentEquals(tensor)).as(dtype.name()).isTrue();
                    back.storage().release();
                }
            }
        }
    }

    @Test
    void aVectorOfArrowIsATensorThatKeepsItsElements() {
        try (BufferAllocator allocator = new RootAllocator()) {
            Tensor tensor;
            try (IntVector vector = new IntVector("x", allocator)) {
                vector.allocateNew(3);
                for (int i = 0; i < 3; i++) {
                    vector.set(i, i);
                }
                vector.setValueCount(3);
                tensor = ArrowVectors.asTensor(vector);
                tensor.setLong(1, 42);
                assertThat(vector.get(1)).isEqualTo(42);
            }
            assertThat(tensor.toIntArray()).containsExactly(0, 42, 2);
            assertThat(allocator.getAllocatedMemory()).isPositive();
            tensor.storage().release();
            assertThat(allocator.getAllocatedMemory()).isZero();
        }
    }

    @Test
    void theStorageIsHeldUntilTheVectorIsClosed() throws IOException {
        Path file = folder.resolve("held.croft");
        Checkpoint.save(file, Map.of("c", Tensor.of(1f, 2, 3)));
        try (BufferAllocator allocator = new RootAllocator()) {
            Tensor c;
            Float4Vector vector;
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                c = checkpoint.tensor("c");
                vector = (Float4Vector) ArrowVectors.wrap(c, "c", allocator);
            }
            assertThat(vector.get(2)).isEqualTo(3);
            vector.close();
            assertThat(c.storage().referenceCount()).isZero();
        }
    }

    @Test
    void whatAVectorIsTransferredToHoldsTheStorageOn() {
        Tensor tensor = Tensor.of(1f, 2, 3);
        try (BufferAllocator allocator = new RootAllocator()) {
            BaseFixedWidthVector vector = ArrowVectors.wrap(tensor, "c", allocator);
            TransferPair pair = vector.getTransferPair(allocator);
            pair.transfer();
            vector.close();
            Storage storage = tensor.storage();
            storage.release();
            try (Float4Vector other = (Float4Vector) pair.getTo()) {
                assertThat(other.get(2)).isEqualTo(3);
                assertThat(storage.referenceCount()).isEqualTo(1);
            }
            assertThat(storage.referenceCount()).isZero();
        }
    }

    @Test
    void aVectorThatGrowsLeavesTheTensorsWhereTheyWere() {
        Tensor tensor = Tensor.arange(DType.INT32, 4);
        try (BufferAllocator allocator = new RootAllocator();
                IntVector vector = (IntVector) ArrowVectors.wrap(tensor, "c", allocator)) {
            Tensor before = ArrowVectors.asTensor(vector);
            vector.setSafe(1000, 7);
            vector.set(0, 42);
            assertThat(vector.getDataBufferAddress()).isNotEqualTo(tensor.dataPtr());
            assertThat(before.toIntArray()).containsExactly(0, 1, 2, 3);
            before.storage().release();
            assertThat(tensor.toIntArray()).containsExactly(0, 1, 2, 3);
            assertThat(tensor.storage().referenceCount()).isEqualTo(1);
        }
    }

    @Test
    void anEmptyVectorIsAnEmptyTensor() {
        try (BufferAllocator allocator = new RootAllocator();
                IntVector untouched = new IntVector("u", allocator);
                IntVector empty = new IntVector("e", allocator)) {
            empty.allocateNew(5);
            for (IntVector vector : List.of(untouched, empty)) {
                Tensor tensor = ArrowVectors.asTensor(vector);
                assertThat(tensor.contentEquals(Tensor.zeros(DType.INT32, 0))).isTrue();
                assertThat(tensor.toIntArray()).isEmpty();
                tensor.storage().release();
            }
        }
    }

    @Test
    void whatIsRefusedHoldsNothing() {
        try (BufferAllocator allocator = new RootAllocator(16)) {
            Tensor bool = Tensor.of(true, false);
            assertThatThrownBy(() -> ArrowVectors.wrap(bool, "b", allocator))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("Arrow has no elements of bool");
            assertThat(bool.storage().referenceCount()).isEqualTo(1);

            Tensor large = Tensor.zeros(DType.FLOAT32, 1000);
            assertThatThrownBy(() -> ArrowVectors.wrap(large, "x", allocator)).isInstanceOf(OutOfMemoryException.class);
            assertThat(large.storage().referenceCount()).isEqualTo(1);
        }
    }

    @Test
    void nullsAndBitsAreNoTensors() {
        try (BufferAllocator allocator = new RootAllocator();
                IntVector nulls = new IntVector("n", allocator);
                BitVector bits = new BitVector("b", allocator)) {
            nulls.allocateNew(2);
            nulls.setValueCount(2);
            assertThatThrownBy(() -> ArrowVectors.asTensor(nulls)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("2 nulls");
            assertThatThrownBy(() -> ArrowVectors.asTensor(bits)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("BIT");
        }
    }
}
