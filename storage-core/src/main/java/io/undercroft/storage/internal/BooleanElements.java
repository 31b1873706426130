package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;

/// Truth values: a byte that is not 0 is true, and true is written as 1.
record BooleanElements() implements Elements {
    @Override
    public double getDouble(MemorySegment bytes, long position) {
        return getLong(bytes, position);
    }

    @Override
    public long getLong(MemorySegment bytes, long position) {
        return bytes.get(Layouts.BYTE, position) == 0 ? 0 : 1;
    }

    @Override
    public void setDouble(MemorySegment bytes, long position, double value) {
        setLong(bytes, position, value == 0 ? 0 : 1);
    }

    @Override
    public void setLong(MemorySegment bytes, long position, long value) {
        bytes.set(Layouts.BYTE, position, (byte) (value == 0 ? 0 : 1));
    }

    @Override
    public Elements negated() {
        return this;
    }
}
