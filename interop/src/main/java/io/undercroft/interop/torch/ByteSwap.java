package io.undercroft.interop.torch;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Turns elements from one byte order into the other.
final class ByteSwap {
    private ByteSwap() {}

    /// Reverses the bytes of every element in place.
    ///
    /// @param bytes whole elements
    /// @param size bytes in one: 1, 2, 4 or 8
    static void swap(MemorySegment bytes, int size) {
        for (long at = 0; at < bytes.byteSize(); at += size) {
            switch (size) {
                case 1 -> {
                }
                case 2 -> bytes.set(ValueLayout.JAVA_SHORT_UNALIGNED, at,
                        Short.reverseBytes(bytes.get(ValueLayout.JAVA_SHORT_UNALIGNED, at)));
                case 4 -> bytes.set(ValueLayout.JAVA_INT_UNALIGNED, at,
                        Integer.reverseBytes(bytes.get(ValueLayout.JAVA_INT_UNALIGNED, at)));
                case 8 -> bytes.set(ValueLayout.JAVA_LONG_UNALIGNED, at,
                        Long.reverseBytes(bytes.get(ValueLayout.JAVA_LONG_UNALIGNED, at)));
                default -> throw new IllegalArgumentException("elements of " + size + " bytes");
            }
        }
    }
}
