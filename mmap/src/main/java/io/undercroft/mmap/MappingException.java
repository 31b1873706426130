package io.undercroft.mmap;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Locale;

/// Thrown if bytes of a file cannot be mapped, or cannot be accessed through a mapping. The message is one line: the
/// problem, the file, the offset, and a remedy.
///
/// It is unchecked because storages map bytes at the first access, in code that does not handle `IOException`.
public sealed class MappingException extends UncheckedIOException permits TruncatedMappingException {
    private static final long serialVersionUID = 1L;

    private final String file;
    private final long offset;
    private final long length;
    private final String remedy;

    /// Describes a failure.
    ///
    /// @param file the file
    /// @param what the failure, without a full stop
    /// @param offset where in the file the bytes start, in bytes
    /// @param length the number of bytes
    /// @param remedy what to do about it, without a full stop
    /// @param cause the error of the system call
    MappingException(String file, String what, long offset, long length, String remedy, IOException cause) {
        super(String.format(Locale.ROOT, "%s: %s (%d bytes at byte 0x%X). %s.", file, what, length, offset, remedy),
                cause);
        this.file = file;
        this.offset = offset;
        this.length = length;
        this.remedy = remedy;
    }

    /// {@return an exception for bytes that the system cannot read}
    ///
    /// @param file the file
    /// @param length the number of bytes
    /// @param cause the error of the system
    static MappingException unreadable(String file, long length, FileReadException cause) {
        return new MappingException(file, "read error: " + cause.systemMessage(), cause.offset(), length,
                FileReadException.REMEDY, cause);
    }

    /// {@return the file}
    public String file() {
        return file;
    }

    /// {@return the offset of the bytes in the file}
    public long offset() {
        return offset;
    }

    /// {@return the number of bytes}
    public long length() {
        return length;
    }

    /// {@return the remedy}
    public String remedy() {
        return remedy;
    }
}
