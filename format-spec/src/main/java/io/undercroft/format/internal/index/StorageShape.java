package io.undercroft.format.internal.index;

import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.FileLayout;

/// How the RAW extents of one storage have to be aligned, in their file and in the storage, so that they can be mapped
/// one after the other. Belongs to one thread.
public final class StorageShape {
    private final long alignment;
    private boolean isRagged;

    /// The rules for a storage.
    ///
    /// @param nbytes its size in bytes
    /// @param chunkLog2 the logarithm of the chunk size of the file
    public StorageShape(long nbytes, int chunkLog2) {
        this.alignment = FileLayout.alignment(nbytes, chunkLog2);
    }

    /// {@return whether an extent may follow those that were accepted}
    ///
    /// @param kind what it is; only RAW ones have to be aligned
    /// @param position where it starts in the storage
    /// @param fileOffset where it starts in its file
    /// @param length how many bytes it has
    public boolean accepts(ExtentKind kind, long position, long fileOffset, long length) {
        if (kind != ExtentKind.RAW) {
            return true;
        }
        // Only the last of them may end anywhere.
        boolean fits = !isRagged && position % alignment == 0 && fileOffset % alignment == 0;
        isRagged |= length % alignment != 0;
        return fits;
    }
}
