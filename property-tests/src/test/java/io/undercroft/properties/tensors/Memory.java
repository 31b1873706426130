package io.undercroft.properties.tensors;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/// A storage, and the bytes that it should hold.
final class Memory {
    final Storage storage;
    final byte[] bytes;

    private Memory(Storage storage, byte... bytes) {
        this.storage = storage;
        this.bytes = bytes;
    }

    /// A new storage of given bytes.
    static Memory of(byte... bytes) {
        Storage storage = Storage.allocate(bytes.length);
        MemorySegment.copy(bytes, 0, storage.segment(), ValueLayout.JAVA_BYTE, 0, bytes.length);
        return new Memory(storage, bytes);
    }

    /// A storage that somebody made, and should hold given elements one after another.
    static Memory holding(Storage storage, DType dtype, List<List<Long>> elements) {
        return new Memory(storage, packed(dtype, elements));
    }

    /// {@return elements one after another}
    static byte[] packed(DType dtype, List<List<Long>> elements) {
        byte[] packed = new byte[(int) dtype.nbytes(elements.size())];
        for (int i = 0; i < elements.size(); i++) {
            Encoding.write(packed, dtype, i * dtype.bits(), elements.get(i));
        }
        return packed;
    }

    void check(Object story) {
        byte[] held = storage.segment().toArray(ValueLayout.JAVA_BYTE);
        assertThat(held).as("the bytes below %s", story).isEqualTo(bytes);
    }
}
