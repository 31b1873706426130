package io.undercroft.serializer.internal.analysis;

import java.util.stream.LongStream;

/// Sums of sizes. A short file can have storages of 2^63-1 bytes, so sums are limited.
public final class Sizes {
    private Sizes() {}

    /// {@return the sum of sizes; at most 2^63-1}
    ///
    /// @param sizes the sizes in bytes, 0 or more
    public static long sum(LongStream sizes) {
        return sizes.reduce(0, Sizes::sum);
    }

    /// {@return the sum of two sizes; at most 2^63-1}
    ///
    /// @param one a size in bytes, 0 or more
    /// @param other another one
    public static long sum(long one, long other) {
        return one + Math.min(other, Long.MAX_VALUE - one);
    }
}
