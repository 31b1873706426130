package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;

/// Integers of whole bytes.
///
/// A double that is written is truncated as [Truncation] says.
///
/// @param bits width of an element: 8, 16, 32 or 64
/// @param signed whether the highest bit is a sign
record IntegerElements(int bits, boolean signed) implements Elements {
    static final IntegerElements INT64 = new IntegerElements(64, true);
    static final IntegerElements INT32 = new IntegerElements(32, true);
    static final IntegerElements INT16 = new IntegerElements(16, true);
    static final IntegerElements INT8 = new IntegerElements(8, true);
    static final IntegerElements UINT64 = new IntegerElements(64, false);
    static final IntegerElements UINT32 = new IntegerElements(32, false);
    static final IntegerElements UINT16 = new IntegerElements(16, false);
    static final IntegerElements UINT8 = new IntegerElements(8, false);

    @Override
    public double getDouble(MemorySegment bytes, long position) {
        return toDouble(getLong(bytes, position));
    }

    @Override
    public long getLong(MemorySegment bytes, long position) {
        return wrap(switch (bits) {
            case 8 -> bytes.get(Layouts.BYTE, position);
            case 16 -> bytes.get(Layouts.SHORT, Layouts.at(position, Short.BYTES));
            case 32 -> bytes.get(Layouts.INT, Layouts.at(position, Integer.BYTES));
            default -> bytes.get(Layouts.LONG, Layouts.at(position, Long.BYTES));
        });
    }

    @Override
    public void setDouble(MemorySegment bytes, long position, double value) {
        setLong(bytes, position, toLong(value));
    }

    @Override
    public void setLong(MemorySegment bytes, long position, long value) {
        switch (bits) {
            case 8 -> bytes.set(Layouts.BYTE, position, (byte) value);
            case 16 -> bytes.set(Layouts.SHORT, Layouts.at(position, Short.BYTES), (short) value);
            case 32 -> bytes.set(Layouts.INT, Layouts.at(position, Integer.BYTES), (int) value);
            default -> bytes.set(Layouts.LONG, Layouts.at(position, Long.BYTES), value);
        }
    }

    @Override
    public Elements negated() {
        return new Negated(this);
    }

    /// The value that the lower bits stand for.
    private long wrap(long value) {
        int spare = Long.SIZE - bits;
        return signed ? value << spare >> spare : value << spare >>> spare;
    }

    private long toLong(double value) {
        return Truncation.of(bits, signed).of(value);
    }

    private double toDouble(long value) {
        return signed ? value : Unsigned.toDouble(value);
    }

    /// Negatives in two's complement, which for unsigned integers are what is missing to 2^bits.
    private record Negated(IntegerElements stored) implements Elements {
        @Override
        public double getDouble(MemorySegment bytes, long position) {
            return stored.toDouble(getLong(bytes, position));
        }

        @Override
        public long getLong(MemorySegment bytes, long position) {
            return stored.wrap(-stored.getLong(bytes, position));
        }

        @Override
        public void setDouble(MemorySegment bytes, long position, double value) {
            setLong(bytes, position, stored.toLong(value));
        }

        @Override
        public void setLong(MemorySegment bytes, long position, long value) {
            stored.setLong(bytes, position, -value);
        }

        @Override
        public Elements negated() {
            return stored;
        }
    }
}
