package io.undercroft.format.internal.index;

import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.FileLayout;

/// The alignment of the RAW and CODED extents of one storage, in their file and in the storage, which allows to map RAW
/// ones one after the other. For use by one thread.
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
    /// @param kind its kind; FOREIGN ones need not be aligned, CODED ones only to a cache line in their file
    /// @param position its offset in the storage
    /// @param fileOffset its offset in its file
    /// @param length the number of bytes
    public boolean accepts(ExtentKind kind, long position, long fileOffset, long length) {
        if (kind != ExtentKind.RAW && kind != ExtentKind.CODED) {
            return true;
        }
        // Only the last of them may end anywhere.
        boolean fits = !isRagged && position % alignment == 0
                && fileOffset % (kind == ExtentKind.RAW ? alignment : FileLayout.SMALL_ALIGNMENT) == 0;
        isRagged |= length % alignment != 0;
        return fits;
    }
}
