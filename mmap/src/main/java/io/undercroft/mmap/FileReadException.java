package io.undercroft.mmap;

import java.io.IOException;
import java.nio.file.FileSystemException;
import org.jspecify.annotations.Nullable;

/// The system failed to read bytes of a file that has them, for instance since its disk is damaged. The message is one
/// line: which file, where, what the system said, and what to do.
///
/// Mapped bytes that cannot be read throw a [MappingException], with this as its cause if they were copied.
public final class FileReadException extends FileSystemException {
    /// What to do about bytes that cannot be read.
    static final String REMEDY = "Check the disk, then take the file from a backup, or copy what can still be read";

    private static final long serialVersionUID = 1L;

    private final long offset;
    private final IOException system;

    /// Describes a failure.
    ///
    /// @param file the file, or null if it has no name
    /// @param offset the first byte in the file that was not read; the system reads whole pages
    /// @param cause the error of the system call
    public FileReadException(@Nullable String file, long offset, IOException cause) {
        super(file, null, "read error at byte 0x%X: %s. %s".formatted(offset, cause.getMessage(), REMEDY));
        this.offset = offset;
        this.system = cause;
        initCause(cause);
    }

    /// {@return the first byte in the file that was not read}
    public long offset() {
        return offset;
    }

    /// {@return what the system said}
    String systemMessage() {
        return String.valueOf(system.getMessage());
    }
}
