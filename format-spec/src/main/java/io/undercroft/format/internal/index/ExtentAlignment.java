package io.undercroft.format.internal.index;

import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.FileLayout;

/// The alignment of the RAW extents of one storage, in their file and in the storage, which allows to map them one
/// after the other. For use by one thread.
public final class ExtentAlignment {
    private final long alignment;
    private boolean isRagged;

    /// The rules for a storage.
    ///
    /// @param nbytes its size in bytes
    /// @param chunkLog2 the logarithm of the chunk size of the file
    public ExtentAlignment(long nbytes, int chunkLog2) {
        this.alignment = FileLayout.alignment(nbytes, chunkLog2);
    }

    /// {@return whether an extent may follow those that were accepted}
    ///
    /// @param kind its kind; only RAW ones have to be aligned
    /// @param position its offset in the storage
    /// @param fileOffset its offset in its file
    /// @param length the number of bytes
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
