package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;

/// Integers of whole bytes.
///
/// A double that is written is truncated by [Truncation].
///
/// @param bits width of an element: 8, 16, 32 or 64
/// @param signed whether the highest bit is a sign
/// @param isNegated whether they stand for their negatives in two's complement, which for unsigned integers are what is
///     missing to 2^bits
record IntegerElements(int bits, boolean signed, boolean isNegated) implements Elements {
    @Override
    public double getDouble(MemorySegment bytes, long position) {
        long value = getLong(bytes, position);
        return signed ? value : Unsigned.toDouble(value);
    }

    @Override
    public long getLong(MemorySegment bytes, long position) {
        long stored = switch (bits) {
            case 8 -> bytes.get(Layouts.BYTE, position);
            case 16 -> bytes.get(Layouts.SHORT, Layouts.at(position, Short.BYTES));
            case 32 -> bytes.get(Layouts.INT, Layouts.at(position, Integer.BYTES));
            default -> bytes.get(Layouts.LONG, Layouts.at(position, Long.BYTES));
        };
        return wrap(isNegated ? -stored : stored);
    }

    @Override
    public void setDouble(MemorySegment bytes, long position, double value) {
        setLong(bytes, position, Truncation.of(bits, signed).of(value));
    }

    @Override
    public void setLong(MemorySegment bytes, long position, long value) {
        long stored = isNegated ? -value : value;
        switch (bits) {
            case 8 -> bytes.set(Layouts.BYTE, position, (byte) stored);
            case 16 -> bytes.set(Layouts.SHORT, Layouts.at(position, Short.BYTES), (short) stored);
            case 32 -> bytes.set(Layouts.INT, Layouts.at(position, Integer.BYTES), (int) stored);
            default -> bytes.set(Layouts.LONG, Layouts.at(position, Long.BYTES), stored);
        }
    }

    @Override
    public Elements negated() {
        return new IntegerElements(bits, signed, !isNegated);
    }

    /// Returns the value that the lower bits stand for.
    private long wrap(long value) {
        int spare = Long.SIZE - bits;
        return signed ? value << spare >> spare : value << spare >>> spare;
    }
}
