package io.undercroft.format.internal.index;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Rule;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/// Little-endian numbers at any offset of a segment.
public final class LittleEndian {
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED
            .withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private LittleEndian() {}

    /// {@return an unsigned byte}
    public static int u8(MemorySegment bytes, long at) {
        return Byte.toUnsignedInt(bytes.get(ValueLayout.JAVA_BYTE, at));
    }

    /// {@return an unsigned 16-bit number}
    public static int u16(MemorySegment bytes, long at) {
        return Short.toUnsignedInt(bytes.get(SHORT, at));
    }

    /// {@return 32 bits}
    public static int i32(MemorySegment bytes, long at) {
        return bytes.get(INT, at);
    }

    /// {@return 64 bits}
    public static long i64(MemorySegment bytes, long at) {
        return bytes.get(LONG, at);
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

    /// {@return whether two ranges have the same bytes} By a loop that may read a mapped file that another program
    /// cuts, which [MemorySegment#mismatch] may not.
    static boolean haveSameBytes(MemorySegment bytes, long from, MemorySegment others, long start, long length) {
        long done = 0;
        while (length - done >= Long.BYTES && bytes.get(LONG, from + done) == others.get(LONG, start + done)) {
            done += Long.BYTES;
        }
        while (length - done < Long.BYTES && done < length && bytes.get(ValueLayout.JAVA_BYTE,
                from + done) == others.get(ValueLayout.JAVA_BYTE, start + done)) {
            done++;
        }
        return done == length;
    }

    /// Checks that reserved bytes are zero (rule V9).
    ///
    /// @param base the file offset of `bytes`, for the message
    /// @throws FormatException if one is not
    public static void requireZero(MemorySegment bytes, long from, long to, long base, String where) {
        long at = firstNonZero(bytes, from, to);
        if (at < to) {
            throw Rule.V9_RESERVED.broken("a reserved byte of " + where + " is not zero", base + at);
        }
    }
}
