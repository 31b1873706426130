package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import org.jspecify.annotations.Nullable;

/// One run of bytes of one storage.
///
/// @param kind the way in which the bytes are stored
/// @param isShared whether another extent of the snapshot is the same bytes of the same file, so that a mapping which
///     both used would show writes to one storage in the other
/// @param base the file that contains them: 0 is this file, any other number *n* the file of [Snapshot#base] *n* - 1; 0
///     for a ZERO extent
/// @param fileOffset the first byte in that file; 0 for a ZERO extent
/// @param length its size in bytes, at least 1, and at most a chunk unless it is a ZERO extent; of a CODED extent, of
///     the bytes that it is decoded to
/// @param sums the checksum and the digest of its bytes, decoded; [ExtentSums#NONE] for a ZERO extent
/// @param coding how a CODED extent is stored; null for any other
public record ExtentRecord(ExtentKind kind, boolean isShared, int base, long fileOffset, long length,
        ExtentSums sums, @Nullable Coding coding) {
    /// The number of this file where the number of a base is expected.
    public static final int THIS_FILE = 0;

    /// {@return a run of zeros that takes no space in a file}
    ///
    /// @param length the number of bytes
    static ExtentRecord zeros(long length) {
        return new ExtentRecord(ExtentKind.ZERO, false, THIS_FILE, 0, length, ExtentSums.NONE, null);
    }

    /// {@return the number of bytes that it takes in its file, 0 for a ZERO extent}
    public long storedLength() {
        return kind == ExtentKind.ZERO ? 0 : coding == null ? length : coding.length();
    }

    /// {@return the digest of its bytes, [Digest128#ZERO] for a ZERO extent}
    public Digest128 digest() {
        return sums.digest();
    }
}
