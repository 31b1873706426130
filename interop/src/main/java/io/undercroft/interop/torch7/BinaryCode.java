package io.undercroft.interop.torch7;

import io.undercroft.serializer.spi.Output;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.Consumer;

/// Writes numbers as they are in the memory of a given machine.
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
        DType dtype = elements.dtype();
        boolean narrows = dtype.equals(DType.INT64) && encoding.longBytes() == Integer.BYTES;
        StoredElements.Writer writer = narrows
                ? this::narrow
                : encoding.isLittle() ? null : (bytes, output) -> swap(bytes, dtype, output);
        put(new StoredElements(elements.untyped(), dtype, elements.size(),
                elements.size() * (narrows ? Integer.BYTES : dtype.itemsize()), writer));
    }

    /// Writes elements in the other byte order.
    private static void swap(MemorySegment bytes, DType dtype, Output output) throws IOException {
        MemorySegment chunk = MemorySegment.ofArray(new byte[CHUNK * dtype.itemsize()]);
        for (long done = 0; done < bytes.byteSize(); done += chunk.byteSize()) {
            MemorySegment part = chunk.asSlice(0, Math.min(chunk.byteSize(), bytes.byteSize() - done));
            part.copyFrom(bytes.asSlice(done, part.byteSize()));
            Storage.wrap(part).byteswap(dtype);
            output.write(part);
        }
    }

    /// Writes elements of 64 bits as ones of 32, which hold them.
    private void narrow(MemorySegment bytes, Output output) throws IOException {
        ValueLayout.OfLong wide = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
        ValueLayout.OfInt narrow = ValueLayout.JAVA_INT_UNALIGNED.withOrder(encoding.order());
        MemorySegment chunk = MemorySegment.ofArray(new byte[CHUNK * Integer.BYTES]);
        long size = bytes.byteSize() / Long.BYTES;
        for (long done = 0; done < size; done += CHUNK) {
            int count = (int) Math.min(CHUNK, size - done);
            for (int i = 0; i < count; i++) {
                long value = bytes.get(wide, (done + i) * Long.BYTES);
                chunk.set(narrow, (long) i * Integer.BYTES, Math.toIntExact(value));
            }
            output.write(chunk.asSlice(0, (long) count * Integer.BYTES));
        }
    }
}
