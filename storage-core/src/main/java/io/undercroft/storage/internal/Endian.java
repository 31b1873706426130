package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;

/// Converts between little-endian and big-endian.
public final class Endian {
    private Endian() {}

    /// Reverses the order of the bytes in each unit, in place. Each part of a complex number is a unit.
    ///
    /// @param bytes the bytes to change; a whole number of units
    /// @param unit bytes in a unit: 1, 2, 4 or 8
    /// @throws IllegalArgumentException if there is no such unit, or the bytes are no whole number of units
    public static void swapBytes(MemorySegment bytes, int unit) {
        if (bytes.byteSize() % unit != 0) {
            throw new IllegalArgumentException(bytes.byteSize() + " bytes are no whole number of units of " + unit);
        }
        switch (unit) {
            case 1 -> {
            }
            case 2 -> swapShorts(bytes);
            case 4 -> swapInts(bytes);
            case 8 -> swapLongs(bytes);
            default -> throw new IllegalArgumentException("bytes are swapped in units of 1, 2, 4 or 8, not " + unit);
        }
    }

    private static void swapShorts(MemorySegment bytes) {
        for (long at = 0; at < bytes.byteSize(); at += Short.BYTES) {
            bytes.set(Layouts.SHORT, at, Short.reverseBytes(bytes.get(Layouts.SHORT, at)));
        }
    }

    private static void swapInts(MemorySegment bytes) {
        for (long at = 0; at < bytes.byteSize(); at += Integer.BYTES) {
            bytes.set(Layouts.INT, at, Integer.reverseBytes(bytes.get(Layouts.INT, at)));
        }
    }

    private static void swapLongs(MemorySegment bytes) {
        for (long at = 0; at < bytes.byteSize(); at += Long.BYTES) {
            bytes.set(Layouts.LONG, at, Long.reverseBytes(bytes.get(Layouts.LONG, at)));
        }
    }
}
