package io.undercroft.storage.internal;

/// Reads 64 bits as an unsigned integer.
final class Unsigned {
    private Unsigned() {}

    static double toDouble(long bits) {
        return bits >= 0 ? (double) bits : (double) halved(bits) * 2;
    }

    static float toFloat(long bits) {
        return bits >= 0 ? (float) bits : (float) halved(bits) * 2;
    }

    /// Half of it, so that it fits a long; the lost bit is kept sticky, so that rounding sees it.
    private static long halved(long bits) {
        return (bits >>> 1) | (bits & 1);
    }
}
