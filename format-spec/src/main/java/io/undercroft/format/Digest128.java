package io.undercroft.format;

import io.undercroft.format.internal.Digests;
import java.lang.foreign.MemorySegment;

/// A 128-bit digest (XXH3-128). In a file it is a little-endian 128-bit number: the low half first.
///
/// It finds equal bytes and detects accidents; it does not resist an attacker.
///
/// @param high the upper 64 bits
/// @param low the lower 64 bits
public record Digest128(long high, long low) {
    /// The digest of nothing in particular, as stored where there is no digest.
    public static final Digest128 ZERO = new Digest128(0, 0);

    /// {@return the digest that a `.croft` file has for some bytes}
    ///
    /// @param bytes a segment of any size
    public static Digest128 of(MemorySegment bytes) {
        return Digests.xxh3(bytes);
    }

    /// Written out, since the JVM would make it when the first file is opened.
    @Override
    public boolean equals(Object other) {
        return other instanceof Digest128 that && high == that.high && low == that.low;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(high ^ low);
    }

    /// {@return the 32 hexadecimal digits, as other XXH3 tools print them}
    @Override
    public String toString() {
        return String.format("%016x%016x", high, low);
    }
}
