package io.undercroft.mmap;

import java.io.EOFException;

/// Thrown if a mapped file was truncated, so that mapped bytes are missing or read as zeros.
public final class TruncatedMappingException extends MappingException {
    private static final long serialVersionUID = 1L;

    /// Describes the loss.
    ///
    /// @param file the file
    /// @param mapped the end of what is mapped, in bytes from the start of the file
    /// @param size how long the file is now, in bytes
    TruncatedMappingException(String file, long mapped, long size) {
        super(file, "the file was cut to " + size + " bytes while " + mapped + " bytes of it are mapped", size,
                mapped - size, "Open it again, and replace files by renaming a new one over them, never in place",
                new EOFException("mapped bytes are gone"));
    }
}
