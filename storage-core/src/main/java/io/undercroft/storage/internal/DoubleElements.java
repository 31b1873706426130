package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;

/// IEEE binary64.
record DoubleElements() implements Elements {
    @Override
    public double getDouble(MemorySegment bytes, long position) {
        return bytes.get(Layouts.DOUBLE, Layouts.at(position, Double.BYTES));
    }

    @Override
    public long getLong(MemorySegment bytes, long position) {
        return (long) getDouble(bytes, position);
    }

    @Override
    public void setDouble(MemorySegment bytes, long position, double value) {
        bytes.set(Layouts.DOUBLE, Layouts.at(position, Double.BYTES), value);
    }

    @Override
    public void setLong(MemorySegment bytes, long position, long value) {
        setDouble(bytes, position, (double) value);
    }
}
