package io.undercroft.mmap;

import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.storage.spi.Backing;
import java.util.Optional;

/// The file behind mapped bytes, and which of its bytes they are. Found as the
/// [backing][io.undercroft.storage.Storage#backing] of a storage; a saver that has the same file open need not read
/// bytes that are known to be in it. Instances are safe for any thread.
public interface FileBacking extends Backing {
    /// {@return the run of a file that some bytes are mapped from; empty if they are of several runs or none, or were
    /// copied when they were mapped, as far as that is known}
    ///
    /// @param start the first byte, counted from the start of the allocation
    /// @param end the end, exclusive
    Optional<FilePiece> source(long start, long end);

    /// {@return whether bytes that have a [#source] are those that the file has there now: none of their pages was
    /// written to through a copy-on-write mapping, and none is a copy} False where the system does not report that; a
    /// page that was written to stays a copy, also if it has its former bytes again. Nothing is read of the bytes.
    ///
    /// @param start the first byte, counted from the start of the allocation
    /// @param end the end, exclusive
    /// @throws IllegalStateException if the allocation was freed
    boolean isUnwritten(long start, long end);
}
