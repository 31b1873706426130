package io.undercroft.format;

/// One run of bytes of one storage.
///
/// @param kind how the bytes are kept
/// @param fileOffset the first byte in the file; 0 for a ZERO extent
/// @param storedLength how many bytes it takes in the file; 0 for a ZERO extent
/// @param logicalLength how many bytes of the storage it makes, at least 1
/// @param firstChecksum where its chunk checksums start, see [Snapshot#checksum]; 0 for a ZERO extent
/// @param digest the digest of the stored bytes; [Digest128#ZERO] for a ZERO extent
public record ExtentRecord(ExtentKind kind, long fileOffset, long storedLength, long logicalLength, long firstChecksum,
        Digest128 digest) {}
