package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;

/// The negatives of what is stored.
///
/// @param stored how that is read and written
record NegatedElements(Elements stored) implements Elements {
    @Override
    public double getDouble(MemorySegment bytes, long position) {
        return -stored.getDouble(bytes, position);
    }

    @Override
    public long getLong(MemorySegment bytes, long position) {
        return -stored.getLong(bytes, position);
    }

    @Override
    public void setDouble(MemorySegment bytes, long position, double value) {
        stored.setDouble(bytes, position, -value);
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
