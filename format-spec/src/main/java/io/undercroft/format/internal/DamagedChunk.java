package io.undercroft.format.internal;

/// A chunk of a storage whose bytes do not match their checksum, as [StorageCheck] finds it.
///
/// @param storage the number of the storage
/// @param start where the chunk begins in the storage, in bytes
/// @param length how many bytes it has
/// @param base in which file they are: [ExtentRecord#THIS_FILE], or that of [Snapshot#base] `base` - 1
/// @param fileOffset where they are in that file
public record DamagedChunk(int storage, long start, long length, int base, long fileOffset) {
    /// {@return whether a tensor on the storage has to do with these bytes}
    ///
    /// @param span the span of the tensor
    public boolean touches(Span span) {
        return span.touches(start, start + length);
    }
}
