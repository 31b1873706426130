package io.undercroft.storage.internal;

import io.undercroft.storage.DType;
import java.lang.foreign.MemorySegment;

/// Elements of bits without a numeric value.
///
/// @param dtype their type, for the message
record OpaqueElements(DType dtype) implements Elements {
    /// Throws if elements of a type are converted that have no numbers.
    ///
    /// @param dtype any type
    static void check(DType dtype) {
        if (Elements.of(dtype) instanceof OpaqueElements opaque) {
            throw opaque.noNumbers();
        }
    }

    @Override
    public double getDouble(MemorySegment bytes, long position) {
        throw noNumbers();
    }

    @Override
    public long getLong(MemorySegment bytes, long position) {
        throw noNumbers();
    }

    @Override
    public void setDouble(MemorySegment bytes, long position, double value) {
        throw noNumbers();
    }

    @Override
    public void setLong(MemorySegment bytes, long position, long value) {
        throw noNumbers();
    }

    @Override
    public Elements negated() {
        return this;
    }

    private UnsupportedOperationException noNumbers() {
        return new UnsupportedOperationException(
                "elements of " + dtype + " are bits without a numeric value; use bytes() to read or write them");
    }
}
