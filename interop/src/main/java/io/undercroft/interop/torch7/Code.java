package io.undercroft.interop.torch7;

import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.storage.DType;
import io.undercroft.storage.BorrowedBytes;
import io.undercroft.storage.Storage;
import io.undercroft.storage.TypedStorage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Puts what objects are made of into parts of a file: the counterpart of [Input]. Belongs to one thread.
abstract sealed class Code permits BinaryCode, AsciiCode {
    /// Elements that are worked on at once.
    protected static final int CHUNK = 1 << 13;
    private static final int LARGE = 1 << 20;

    private final List<Draft> parts = new ArrayList<>();
    private final ByteArrayOutputStream pending = new ByteArrayOutputStream();

    /// Bytes that are there.
    ///
    /// @param bytes what to write
    private record Bytes(MemorySegment bytes) implements Draft {
        @Override
        public long nbytes() {
            return bytes.byteSize();
        }

        @Override
        public void writeTo(Output output) throws IOException {
            output.write(bytes);
        }
    }

    /// The elements that a storage had when a file was planned.
    ///
    /// @param storage their bytes
    /// @param dtype their type
    /// @param size how many
    /// @param nbytes how many bytes they take in the file, as near as is known
    /// @param writer writes them, or null if they are in the file as they are in memory
    record StoredElements(Storage storage, DType dtype, long size, long nbytes,
            @Nullable Writer writer) implements Draft {
        /// Writes the bytes of elements in another way.
        interface Writer {
            void write(MemorySegment bytes, Output output) throws IOException;
        }

        @Override
        public void writeTo(Output output) throws IOException {
            if (writer == null) {
                checkSize(storage.nbytes());
                output.write(storage, 0, size * dtype.itemsize());
                return;
            }
            try (BorrowedBytes borrowed = storage.borrow()) {
                MemorySegment all = borrowed.storage().segment();
                checkSize(all.byteSize());
                writer.write(all.asSlice(0, size * dtype.itemsize()), output);
            }
        }

        private void checkSize(long now) {
            if (now < size * dtype.itemsize()) {
                throw new IllegalStateException(storage.describe() + " had " + size * dtype.itemsize()
                        + " bytes, and was resized while it was being saved; save it before or after");
            }
        }
    }

    static Code of(Encoding encoding) {
        return encoding == Encoding.ASCII ? new AsciiCode() : new BinaryCode(encoding);
    }

    abstract void writeInt(int value);

    /// Writes values of C's type `long` in one call, which matters in ASCII.
    abstract void writeLongs(long... values);

    abstract void writeDouble(double value);

    /// Writes bytes in one call.
    abstract void writeBytes(byte[] bytes);

    /// Writes whole elements, when the file is written.
    abstract void writeElements(TypedStorage elements);

    /// {@return all that was written}
    List<Draft> parts() {
        flush();
        return List.copyOf(parts);
    }

    protected final void put(byte[] bytes) {
        if (bytes.length >= LARGE) {
            put(new Bytes(MemorySegment.ofArray(bytes)));
            return;
        }
        pending.writeBytes(bytes);
        if (pending.size() >= LARGE) {
            flush();
        }
    }

    protected final void put(Draft part) {
        flush();
        parts.add(part);
    }

    private void flush() {
        if (pending.size() > 0) {
            parts.add(new Bytes(MemorySegment.ofArray(pending.toByteArray())));
            pending.reset();
        }
    }
}
