package io.undercroft.format.internal.index;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Rule;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.UUID;

/// Little-endian fields of a record, read and put in place wherever they lie.
public final class Fields {
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED
            .withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong BIG_ENDIAN = ValueLayout.JAVA_LONG_UNALIGNED
            .withOrder(ByteOrder.BIG_ENDIAN);

    private Fields() {}

    /// {@return an unsigned byte}
    public static int u8(MemorySegment bytes, long at) {
        return Byte.toUnsignedInt(bytes.get(ValueLayout.JAVA_BYTE, at));
    }

    /// {@return an unsigned 16-bit number}
    public static int u16(MemorySegment bytes, long at) {
        return Short.toUnsignedInt(bytes.get(SHORT, at));
    }

    /// {@return an unsigned 32-bit number}
    public static long u32(MemorySegment bytes, long at) {
        return Integer.toUnsignedLong(bytes.get(INT, at));
    }

    /// {@return 32 bits}
    public static int i32(MemorySegment bytes, long at) {
        return bytes.get(INT, at);
    }

    /// {@return 64 bits}
    public static long i64(MemorySegment bytes, long at) {
        return bytes.get(LONG, at);
    }

    /// {@return an unsigned 64-bit number, which this format keeps below 2^63}
    ///
    /// @param base the file offset of `bytes`, for the message
    public static long u64(MemorySegment bytes, long at, long base) {
        long value = bytes.get(LONG, at);
        if (value < 0) {
            throw Rule.V1_ARITHMETIC.broken("the number " + Long.toUnsignedString(value) + " is past 2^63-1",
                    base + at);
        }
        return value;
    }

    /// {@return a digest}
    public static Digest128 digest(MemorySegment bytes, long at) {
        return new Digest128(i64(bytes, at + 8), i64(bytes, at));
    }

    /// {@return a UUID, whose bytes are in the order of its text}
    public static UUID uuid(MemorySegment bytes, long at) {
        return new UUID(bytes.get(BIG_ENDIAN, at), bytes.get(BIG_ENDIAN, at + 8));
    }

    /// Puts the low 8 bits of a number.
    public static void putByte(MemorySegment bytes, long at, int value) {
        bytes.set(ValueLayout.JAVA_BYTE, at, (byte) value);
    }

    /// Puts the low 16 bits of a number.
    public static void putShort(MemorySegment bytes, long at, int value) {
        bytes.set(SHORT, at, (short) value);
    }

    /// Puts 32 bits.
    public static void putInt(MemorySegment bytes, long at, int value) {
        bytes.set(INT, at, value);
    }

    /// Puts 64 bits.
    public static void putLong(MemorySegment bytes, long at, long value) {
        bytes.set(LONG, at, value);
    }

    /// {@return whether all bytes of a range are zero}
    public static boolean isZero(MemorySegment bytes, long from, long to) {
        return firstNonZero(bytes, from, to) == to;
    }

    /// {@return the place of the first byte of a range that is not zero, or `to`}
    public static long firstNonZero(MemorySegment bytes, long from, long to) {
        long at = from;
        while (to - at >= Long.BYTES && bytes.get(LONG, at) == 0) {
            at += Long.BYTES;
        }
        while (at < to && bytes.get(ValueLayout.JAVA_BYTE, at) == 0) {
            at++;
        }
        return at;
    }

    /// Demands that reserved bytes are zero (rule V9).
    ///
    /// @param base the file offset of `bytes`, for the message
    /// @throws FormatException if one is not
    public static void reserved(MemorySegment bytes, long from, long to, long base, String where) {
        long at = firstNonZero(bytes, from, to);
        if (at < to) {
            throw Rule.V9_RESERVED.broken("a reserved byte of " + where + " is not zero", base + at);
        }
    }
}
