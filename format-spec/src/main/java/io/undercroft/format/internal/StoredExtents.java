package io.undercroft.format.internal;

import org.jspecify.annotations.Nullable;

/// Receives extents whose bytes are in a file, from [Snapshot#storedExtents], which makes no object for each.
@FunctionalInterface
public interface StoredExtents {
    /// Receives an extent.
    ///
    /// @param high the upper half of its digest
    /// @param low the lower half of its digest
    /// @param base the file, as in [ExtentRecord#base]
    /// @param fileOffset the first byte in that file
    /// @param length the number of bytes, decoded
    /// @param coding how a CODED extent is stored; null for any other
    void accept(long high, long low, int base, long fileOffset, long length, @Nullable Coding coding);
}
