package io.undercroft.format.internal;

import io.undercroft.format.Digest128;

/// The sums of the bytes of one extent, as [ExtentDigester] computes them.
///
/// @param checksum the CRC32C
/// @param digest the digest
public record ExtentSums(int checksum, Digest128 digest) {
    /// The sums that are stored where there are no bytes.
    public static final ExtentSums NONE = new ExtentSums(0, Digest128.ZERO);
}
