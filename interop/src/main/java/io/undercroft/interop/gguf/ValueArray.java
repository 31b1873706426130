package io.undercroft.interop.gguf;

import io.undercroft.interop.internal.Utf8;
import io.undercroft.serializer.internal.tree.ScalarList;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.nio.ByteOrder;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// The elements of an array of metadata: the bytes that the file has of them, which are decoded when they are read. A
/// vocabulary has hundreds of thousands of texts, of which most programs read none.
///
/// Immutable and safe for any thread.
final class ValueArray extends ScalarList {
    private final ValueType type;
    private final MemorySegment bytes;
    private final ByteOrder order;
    /// The end of each text in the bytes; null if all elements have the same size.
    private final long @Nullable [] ends;
    private final int lengthBytes;
    private final int size;

    private ValueArray(ValueType type, MemorySegment bytes, ByteOrder order, long @Nullable [] ends, int lengthBytes,
            int size) {
        this.type = type;
        this.bytes = bytes;
        this.order = order;
        this.ends = ends;
        this.lengthBytes = lengthBytes;
        this.size = size;
    }

    /// {@return an array of elements of one size}
    ///
    /// @param type their type
    /// @param bytes all of them, without anything else
    /// @param order their byte order
    static ValueArray of(ValueType type, MemorySegment bytes, ByteOrder order) {
        return new ValueArray(type, bytes, order, null, 0, Math.toIntExact(bytes.byteSize() / type.nbytes()));
    }

    /// {@return an array of texts}
    ///
    /// @param bytes all of them, each behind its length
    /// @param ends where each ends
    /// @param lengthBytes the size of a length in bytes
    static ValueArray ofTexts(MemorySegment bytes, long[] ends, int lengthBytes) {
        return new ValueArray(ValueType.STRING, bytes, ByteOrder.LITTLE_ENDIAN, ends, lengthBytes, ends.length);
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public Object get(int index) {
        Objects.checkIndex(index, size);
        if (ends != null) {
            long start = (index == 0 ? 0 : ends[index - 1]) + lengthBytes;
            byte[] text = new byte[Math.toIntExact(ends[index] - start)];
            MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, start, text, 0, text.length);
            return Utf8.textOrBytes(text);
        }
        long at = (long) index * type.nbytes();
        return switch (type) {
            case UINT8 -> Byte.toUnsignedLong(i8(at));
            case UINT16 -> Short.toUnsignedLong(i16(at));
            case UINT32 -> Integer.toUnsignedLong(i32(at));
            case UINT64 -> i64(at) >= 0 ? (Number) i64(at) : new BigInteger(Long.toUnsignedString(i64(at)));
            case INT8 -> i8(at);
            case INT16 -> i16(at);
            case INT32 -> i32(at);
            case INT64 -> i64(at);
            case FLOAT32 -> Float.intBitsToFloat(i32(at));
            case FLOAT64 -> Double.longBitsToDouble(i64(at));
            case BOOL -> i8(at) == 1;
            case STRING, ARRAY -> throw new IllegalStateException("elements of " + type + " have no common size");
        };
    }

    private byte i8(long at) {
        return bytes.get(ValueLayout.JAVA_BYTE, at);
    }

    private short i16(long at) {
        return bytes.get(ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(order), at);
    }

    private int i32(long at) {
        return bytes.get(ValueLayout.JAVA_INT_UNALIGNED.withOrder(order), at);
    }

    private long i64(long at) {
        return bytes.get(ValueLayout.JAVA_LONG_UNALIGNED.withOrder(order), at);
    }
}
