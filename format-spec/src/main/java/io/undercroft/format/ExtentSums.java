package io.undercroft.format;

/// The sums over the bytes of one RAW extent, as [ExtentDigester] makes them. Immutable.
public final class ExtentSums {
    private final int[] checksums;
    private final Digest128 digest;

    ExtentSums(int[] checksums, Digest128 digest) {
        this.checksums = checksums;
        this.digest = digest;
    }

    /// {@return the CRC32C of each chunk, the last one shorter where the bytes end inside it, in a fresh array}
    public int[] checksums() {
        return checksums.clone();
    }

    /// {@return the digest of all bytes}
    public Digest128 digest() {
        return digest;
    }
}
