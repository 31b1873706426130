package io.undercroft.mmap;

import java.io.IOException;
import java.nio.file.FileSystemException;
import org.jspecify.annotations.Nullable;

/// Thrown if the system fails to read existing bytes of a file, for instance because its disk is damaged. The message
/// is one line: the file, the offset, the error of the system, and a remedy.
///
/// Access to mapped bytes throws a [MappingException], with this exception as its cause if the bytes were copied.
public final class FileReadException extends FileSystemException {
    /// The remedy for bytes that cannot be read.
    static final String REMEDY = "Check the disk, then take the file from a backup, or copy what can still be read";

    private static final long serialVersionUID = 1L;

    private final long offset;
    private final IOException system;

    /// Creates an exception.
    ///
    /// @param file the file, or null if it has no name
    /// @param offset the offset of the first byte that was not read; the system reads whole pages
    /// @param cause the error of the system call
    public FileReadException(@Nullable String file, long offset, IOException cause) {
        super(file, null, "read error at byte 0x%X: %s. %s".formatted(offset, cause.getMessage(), REMEDY));
        this.offset = offset;
        this.system = cause;
        initCause(cause);
    }

    /// {@return the offset in the file of the first byte that was not read}
    public long offset() {
        return offset;
    }

    /// {@return what the system said}
    String systemMessage() {
        return String.valueOf(system.getMessage());
    }
}
