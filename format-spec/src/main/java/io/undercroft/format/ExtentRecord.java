package io.undercroft.format;

/// One run of bytes of one storage.
///
/// @param kind how the bytes are kept
/// @param isShared whether another extent of the snapshot is the same bytes of the same file, so that a mapping which
///     both used would show writes to one storage in the other
/// @param base in which file they stand: 0 is this file, any other number *n* the file of [Snapshot#base] *n* - 1; 0
///     for a ZERO extent
/// @param fileOffset the first byte in that file; 0 for a ZERO extent
/// @param storedLength how many bytes it takes in that file; 0 for a ZERO extent
/// @param logicalLength how many bytes of the storage it makes, at least 1
/// @param firstChecksum where its chunk checksums start, see [Snapshot#checksum]; 0 for a ZERO extent
/// @param digest the digest of the stored bytes; [Digest128#ZERO] for a ZERO extent
public record ExtentRecord(ExtentKind kind, boolean isShared, int base, long fileOffset, long storedLength,
        long logicalLength, long firstChecksum, Digest128 digest) {
    /// What stands for "in this file" where the number of a base is expected.
    public static final int THIS_FILE = 0;

    /// {@return a run of zeros that takes no room in a file}
    ///
    /// @param length how many bytes it has
    static ExtentRecord zeros(long length) {
        return new ExtentRecord(ExtentKind.ZERO, false, THIS_FILE, 0, 0, length, 0, Digest128.ZERO);
    }
}
