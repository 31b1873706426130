package io.undercroft.interop.torch7;

import io.undercroft.interop.internal.ByteReader;
import io.undercroft.mmap.MappedFile;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/// Numbers as they were in the memory of the machine that wrote them.
final class BinaryInput extends Input {
    private static final int CHUNK = 1 << 16;

    private final Encoding encoding;

    BinaryInput(Encoding encoding, MappedFile file, ByteReader.Limits limits) {
        super(file, 0, limits);
        this.encoding = encoding;
        bytes.order(encoding.order());
    }

    @Override
    int smallestObject() {
        return Integer.BYTES;
    }

    @Override
    int readInt() throws IOException {
        return bytes.i32();
    }

    @Override
    long[] readLongs(int count) throws IOException {
        long[] values = new long[count];
        for (int i = 0; i < count; i++) {
            values[i] = encoding.longBytes() == Integer.BYTES ? bytes.i32() : bytes.i64();
        }
        return values;
    }

    @Override
    double readDouble() throws IOException {
        return Double.longBitsToDouble(bytes.i64());
    }

    @Override
    Elements skipElements(DType dtype, long count) {
        boolean widens = dtype.equals(DType.INT64) && encoding.longBytes() == Integer.BYTES;
        int width = widens ? Integer.BYTES : dtype.itemsize();
        long offset = position();
        if (count > remaining() / width) {
            throw Torch7Faults.of("STORAGE", "a storage of " + count + " elements, of which the file has "
                    + remaining() / width, offset);
        }
        bytes.skip(count * width);
        // No more than twice the size of the file.
        long nbytes = count * dtype.itemsize();
        if (widens) {
            return new Elements(offset, nbytes, into -> widen(file, offset, encoding.order(), into));
        }
        return encoding.isLittle() || width == 1
                ? new Elements(offset, nbytes, null)
                : new Elements(offset, nbytes, into -> {
                    file.read(offset, into);
                    Storage.wrap(into).byteswap(dtype);
                });
    }

    private static void widen(MappedFile file, long offset, ByteOrder order, MemorySegment into) throws IOException {
        ValueLayout.OfInt narrow = ValueLayout.JAVA_INT_UNALIGNED.withOrder(order);
        ValueLayout.OfLong wide = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
        MemorySegment chunk = MemorySegment.ofArray(new byte[CHUNK]);
        long count = into.byteSize() / Long.BYTES;
        for (long done = 0; done < count; done += CHUNK / Integer.BYTES) {
            int step = (int) Math.min(count - done, CHUNK / Integer.BYTES);
            file.read(offset + done * Integer.BYTES, chunk.asSlice(0, (long) step * Integer.BYTES));
            for (int i = 0; i < step; i++) {
                into.set(wide, (done + i) * Long.BYTES, chunk.get(narrow, (long) i * Integer.BYTES));
            }
        }
    }
}
