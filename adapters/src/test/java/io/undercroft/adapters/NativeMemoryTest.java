package io.undercroft.adapters;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import net.openhft.chronicle.bytes.BytesStore;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BigIntVector;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NativeMemoryTest {
    private static final long THREE_GIB = 3L << 30;

    @TempDir
    private Path folder;

    @Test
    void whatNativeCodeCannotHaveIsRefusedWithWhatToDo() {
        assertRefused(Tensor.zeros(DType.FLOAT32, 2, 3).transpose(0, 1), "call contiguous() first");
        assertRefused(Tensor.zeros(DType.FLOAT32, 2).neg(), "flags [NEG]");
        assertRefused(Tensor.zeros(Allocator.heap(), DType.FLOAT32, 2), "lies on the heap");
        assertRefused(
                Tensor.of(Storage.wrap(Arena.ofAuto().allocate(8).asReadOnly()), DType.FLOAT32, 0, Shape.of(2), 1),
                "copy-on-write");
        assertRefused(Tensor.of(Storage.allocate(16).slice(1, 8), DType.FLOAT32, 0, Shape.of(2), 1),
                "no multiple of the 4 bytes of float32; copy() it first");
        try (BufferAllocator allocator = new RootAllocator()) {
            assertThatThrownBy(() -> ArrowVectors.wrap(Tensor.meta(DType.FLOAT32, 2), "x", allocator))
                    .isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> ArrowVectors.wrap(Tensor.zeros(DType.FLOAT32, 0), "x", allocator))
                    .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("there are no bytes");
        }
    }

    private static void assertRefused(Tensor tensor, String why) {
        assertThatThrownBy(() -> OnnxTensors.wrap(tensor, OnnxModel.environment()))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining(why);
        try (BufferAllocator allocator = new RootAllocator()) {
            assertThatThrownBy(() -> ArrowVectors.wrap(tensor, "x", allocator))
                    .isInstanceOf(IllegalArgumentException.class).hasMessageContaining(why);
        }
        assertThat(tensor.storage().referenceCount()).isEqualTo(1);
    }

    /// A file without bytes on the disk, so that only what is touched takes memory.
    @Test
    void beyondTwoGibibytesAddressesGoOnAndBuffersEnd() throws IOException {
        try (FileChannel file = FileChannel.open(folder.resolve("large"), StandardOpenOption.CREATE,
                StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.SPARSE);
                Arena arena = Arena.ofShared();
                BufferAllocator allocator = new RootAllocator()) {
            Storage storage = Storage.wrap(file.map(MapMode.READ_WRITE, 0, THREE_GIB, arena));
            Tensor tensor = Tensor.zeros(DType.INT8, 0).set(storage);
            tensor.setLong(THREE_GIB - 1, 42);

            assertThatThrownBy(() -> OnnxTensors.wrap(tensor, OnnxModel.environment()))
                    .isInstanceOf(UnsupportedOperationException.class).hasMessageContaining("narrow()");
            assertThatThrownBy(() -> ArrowVectors.wrap(tensor, "x", allocator))
                    .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("at most 2^31-1 elements");
            BytesStore<?, Void> store = BytesStores.wrap(storage);
            assertThat(store.readByte(THREE_GIB - 1)).isEqualTo((byte) 42);
            Storage back = BytesStores.asStorage(store);
            assertThat(back.get(THREE_GIB - 1)).isEqualTo((byte) 42);
            back.release();
            store.releaseLast();
            try (BaseFixedWidthVector wide = ArrowVectors.wrap(tensor.view(DType.INT64), "x", allocator)) {
                Tensor last = ArrowVectors.asTensor(wide);
                assertThat(last.getLong(THREE_GIB / Long.BYTES - 1)).isEqualTo(42L << 56);
                last.storage().release();
            }
        }
    }

    /// A wrapper of a part of a storage keeps the whole storage.
    @Test
    void aPartKeepsTheWhole() {
        Storage whole = Storage.allocate(64);
        Storage part = whole.slice(16, 8);
        part.set(0, (byte) 42);
        try (BufferAllocator allocator = new RootAllocator()) {
            BaseFixedWidthVector vector = ArrowVectors.wrap(Tensor.of(part, DType.INT64, 0, Shape.of(1), 1), "x",
                    allocator);
            part.release();
            whole.release();
            assertThat(((BigIntVector) vector).get(0)).isEqualTo(42);
            vector.close();
            assertThat(whole.referenceCount()).isZero();
        }
    }

    /// Buffers and segments need no class: storages and tensors have them.
    @Test
    void segmentsAndBuffersAreViewsAndWrappedBack() {
        Tensor tensor = Tensor.of(1f, 2, 3);
        ByteBuffer buffer = tensor.asByteBuffer();
        Tensor back = tensor.set(Storage.wrap(MemorySegment.ofBuffer(buffer)));
        back.setDouble(1, 42);
        assertThat(back.dataPtr()).isEqualTo(tensor.dataPtr()).isEqualTo(tensor.bytes().address());
        assertThat(tensor.getFloat(1)).isEqualTo(42);
        assertThat(buffer.getFloat(4)).isEqualTo(42);
    }
}
