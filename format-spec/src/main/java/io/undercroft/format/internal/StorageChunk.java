package io.undercroft.format.internal;

import org.jspecify.annotations.Nullable;

/// A chunk of a storage, where its bytes are, and its checksum.
///
/// @param storage the number of the storage
/// @param start the first byte of the chunk in the storage
/// @param length the number of bytes
/// @param base the file with the bytes: [ExtentRecord#THIS_FILE], or that of [Snapshot#base] `base` - 1
/// @param fileOffset the first byte in that file
/// @param checksum the CRC32C of the bytes, from the index
/// @param coding how the bytes are stored, if not as they are; or null
public record StorageChunk(int storage, long start, long length, int base, long fileOffset, int checksum,
        @Nullable Coding coding) {
    /// {@return the number of bytes that it takes in its file}
    public long storedLength() {
        return coding == null ? length : coding.length();
    }

    /// {@return the CRC32C of the bytes that are in the file}
    int storedChecksum() {
        return coding == null ? checksum : coding.checksum();
    }

    /// {@return the first byte of the storage after the chunk}
    public long end() {
        return start + length;
    }

    /// {@return whether a span of the storage has a byte of the chunk}
    ///
    /// @param span the span, for instance that of a tensor
    public boolean touches(Span span) {
        return span.touches(start, end());
    }
}
