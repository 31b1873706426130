package io.undercroft.interop.torch7;

import io.undercroft.serializer.spi.Output;
import io.undercroft.storage.DType;
import io.undercroft.storage.Loan;
import io.undercroft.storage.Storage;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.Consumer;

/// Numbers as they are in the memory of some machine.
final class BinaryCode extends Code {
    private final Encoding encoding;

    BinaryCode(Encoding encoding) {
        this.encoding = encoding;
    }

    @Override
    void writeInt(int value) {
        put(Integer.BYTES, buffer -> buffer.putInt(value));
    }

    /// Values that a `long` of the encoding does not hold were refused before.
    @Override
    void writeLongs(long... values) {
        put(values.length * encoding.longBytes(), buffer -> {
            for (long value : values) {
                if (encoding.longBytes() == Long.BYTES) {
                    buffer.putLong(value);
                } else {
                    buffer.putInt((int) value);
                }
            }
        });
    }

    @Override
    void writeDouble(double value) {
        put(Double.BYTES, buffer -> buffer.putLong(Double.doubleToRawLongBits(value)));
    }

    private void put(int nbytes, Consumer<ByteBuffer> filler) {
        byte[] bytes = new byte[nbytes];
        filler.accept(ByteBuffer.wrap(bytes).order(encoding.order()));
        put(bytes);
    }

    @Override
    void writeBytes(byte[] bytes) {
        put(bytes);
    }

    @Override
    void writeElements(TypedStorage elements) {
        StoredElements stored = StoredElements.of(elements);
        boolean narrows = elements.dtype().equals(DType.INT64) && encoding.longBytes() == Integer.BYTES;
        if (narrows) {
            put(new Narrowed(stored, encoding.order()));
        } else {
            put(encoding.isLittle() ? new AsStored(stored) : new Swapped(stored));
        }
    }

    private record AsStored(StoredElements elements) implements Part {
        @Override
        public long nbytes() {
            return elements.nbytes();
        }

        @Override
        public void writeTo(Output output) throws IOException {
            if (!elements.storage().device().isCpu()) {
                output.write(elements.checkedStorage(), 0, elements.nbytes());
                return;
            }
            try (Loan loan = elements.storage().borrow()) {
                output.write(elements.bytes(loan));
            }
        }
    }

    /// Elements in the other byte order.
    private record Swapped(StoredElements elements) implements Part {
        @Override
        public long nbytes() {
            return elements.nbytes();
        }

        @Override
        public void writeTo(Output output) throws IOException {
            try (Loan loan = elements.storage().borrow()) {
                write(elements.bytes(loan), output);
            }
        }

        private void write(MemorySegment bytes, Output output) throws IOException {
            int itemsize = elements.dtype().itemsize();
            MemorySegment chunk = MemorySegment.ofArray(new byte[StoredElements.CHUNK * itemsize]);
            for (long done = 0; done < bytes.byteSize(); done += chunk.byteSize()) {
                MemorySegment part = chunk.asSlice(0, Math.min(chunk.byteSize(), bytes.byteSize() - done));
                part.copyFrom(bytes.asSlice(done, part.byteSize()));
                Storage.wrap(part).byteswap(elements.dtype());
                output.write(part);
            }
        }
    }

    /// Elements of 64 bits as ones of 32, which hold them.
    private record Narrowed(StoredElements elements, ByteOrder order) implements Part {
        @Override
        public long nbytes() {
            return elements.size() * Integer.BYTES;
        }

        @Override
        public void writeTo(Output output) throws IOException {
            try (Loan loan = elements.storage().borrow()) {
                write(elements.bytes(loan), output);
            }
        }

        private void write(MemorySegment bytes, Output output) throws IOException {
            ValueLayout.OfLong wide = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
            ValueLayout.OfInt narrow = ValueLayout.JAVA_INT_UNALIGNED.withOrder(order);
            MemorySegment chunk = MemorySegment.ofArray(new byte[StoredElements.CHUNK * Integer.BYTES]);
            for (long done = 0; done < elements.size(); done += StoredElements.CHUNK) {
                int count = (int) Math.min(StoredElements.CHUNK, elements.size() - done);
                for (int i = 0; i < count; i++) {
                    long value = bytes.get(wide, (done + i) * Long.BYTES);
                    chunk.set(narrow, (long) i * Integer.BYTES, Math.toIntExact(value));
                }
                output.write(chunk.asSlice(0, (long) count * Integer.BYTES));
            }
        }
    }
}
