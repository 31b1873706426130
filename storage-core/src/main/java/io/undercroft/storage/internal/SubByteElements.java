package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;

/// Unsigned integers narrower than a byte; the first element of a byte is in its lowest bits.
///
/// @param bits width of an element, a divisor of 8
record SubByteElements(int bits) implements Elements {
    @Override
    public double getDouble(MemorySegment bytes, long position) {
        return getLong(bytes, position);
    }

    @Override
    public long getLong(MemorySegment bytes, long position) {
        return bytes.get(Layouts.BYTE, position / perByte()) >> shift(position) & mask();
    }

    @Override
    public void setDouble(MemorySegment bytes, long position, double value) {
        setLong(bytes, position, Truncation.TO_LONG.of(value));
    }

    @Override
    public void setLong(MemorySegment bytes, long position, long value) {
        int others = bytes.get(Layouts.BYTE, position / perByte()) & ~(mask() << shift(position));
        int own = ((int) value & mask()) << shift(position);
        bytes.set(Layouts.BYTE, position / perByte(), (byte) (others | own));
    }

    private int perByte() {
        return 8 / bits;
    }

    private int mask() {
        return (1 << bits) - 1;
    }

    private int shift(long position) {
        return (int) (position % perByte()) * bits;
    }
}
