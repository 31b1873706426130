package io.undercroft.storage.internal;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;
import static java.nio.ByteOrder.LITTLE_ENDIAN;

import java.lang.foreign.ValueLayout;

/// Little-endian layouts without alignment: a mapped file puts elements at any byte.
public final class Layouts {
    /// One byte.
    public static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    /// Two bytes.
    public static final ValueLayout.OfShort SHORT = JAVA_SHORT_UNALIGNED.withOrder(LITTLE_ENDIAN);
    /// Four bytes.
    public static final ValueLayout.OfInt INT = JAVA_INT_UNALIGNED.withOrder(LITTLE_ENDIAN);
    /// Eight bytes.
    public static final ValueLayout.OfLong LONG = JAVA_LONG_UNALIGNED.withOrder(LITTLE_ENDIAN);
    /// A float.
    public static final ValueLayout.OfFloat FLOAT = JAVA_FLOAT_UNALIGNED.withOrder(LITTLE_ENDIAN);
    /// A double.
    public static final ValueLayout.OfDouble DOUBLE = JAVA_DOUBLE_UNALIGNED.withOrder(LITTLE_ENDIAN);

    private Layouts() {}

    /// Returns the first byte of the element at a position, for elements of whole bytes.
    static long at(long position, int itemsize) {
        return Math.multiplyExact(position, itemsize);
    }
}
