package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;

/// The negatives of stored elements.
///
/// @param stored the encoding of the stored value
record NegatedElements(Elements stored) implements Elements {
    @Override
    public double getDouble(MemorySegment bytes, long position) {
        return -stored.getDouble(bytes, position);
    }

    @Override
    public long getLong(MemorySegment bytes, long position) {
        // Negated first, limited to the range of long then.
        return (long) getDouble(bytes, position);
    }

    @Override
    public void setDouble(MemorySegment bytes, long position, double value) {
        stored.setDouble(bytes, position, -value);
    }

    @Override
    public void setLong(MemorySegment bytes, long position, long value) {
        if (value == Long.MIN_VALUE) {
            // Its negative is no long.
            stored.setDouble(bytes, position, 0x1p63);
        } else {
            stored.setLong(bytes, position, -value);
        }
    }

    @Override
    public Elements negated() {
        return stored;
    }
}
