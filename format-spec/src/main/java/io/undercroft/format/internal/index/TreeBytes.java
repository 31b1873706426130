package io.undercroft.format.internal.index;

import java.util.Arrays;

/// The bytes of a state tree, which grow as values are written. For use by one thread.
public final class TreeBytes {
    /// A little less than what a JVM allows for an array.
    private static final int LONGEST = Integer.MAX_VALUE - 8;

    private byte[] bytes = new byte[64];
    private int size;

    /// No bytes.
    public TreeBytes() {}

    /// {@return the number of bytes written}
    public int size() {
        return size;
    }

    /// {@return a copy of what was written}
    public byte[] toByteArray() {
        return Arrays.copyOf(bytes, size);
    }

    /// Writes the low 8 bits of a number.
    public void u8(int value) {
        int at = grow(Byte.BYTES);
        bytes[at] = (byte) value;
    }

    /// Writes the low bytes of a number, the lowest first.
    ///
    /// @param size the number of bytes
    public void fixed(long value, int size) {
        for (int shift = 0; shift < Byte.SIZE * size; shift += Byte.SIZE) {
            u8((int) (value >>> shift));
        }
    }

    /// Writes a number in stop-bit encoding: 7 bits in each byte, the lowest first, the top bit set in all but the
    /// last byte.
    ///
    /// @param value not negative
    public void number(long value) {
        long rest = value;
        while (rest > 0x7F) {
            u8(((int) rest & 0x7F) | 0x80);
            rest >>>= 7;
        }
        u8((int) rest);
    }

    /// Writes bytes as they are.
    public void bytes(byte[] added) {
        int at = grow(added.length);
        System.arraycopy(added, 0, bytes, at, added.length);
    }

    /// Makes space at the end.
    ///
    /// @return its start
    private int grow(int count) {
        int at = size;
        long needed = (long) at + count;
        if (needed > LONGEST) {
            throw new IllegalArgumentException("the state tree has more than " + LONGEST
                    + " bytes; save long runs of bytes as tensors");
        }
        if (needed > bytes.length) {
            bytes = Arrays.copyOf(bytes, (int) Math.max(needed, Math.min(2L * bytes.length, LONGEST)));
        }
        size = (int) needed;
        return at;
    }
}
