package io.undercroft.mmap;

import java.nio.file.FileSystemException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// A file in a store, such as one on a web server, could not be opened, read or written. The message is one line: which
/// file, what is wrong, and what to do.
///
/// A storage that is first touched after the file was opened throws a [MappingException] with this as its cause.
public final class RemoteFileException extends FileSystemException {
    private static final long serialVersionUID = 1L;

    private final Kind kind;

    /// What is wrong.
    public enum Kind {
        /// There is no such file.
        NOT_FOUND,
        /// Credentials are missing, or those that were given do not permit it.
        NOT_PERMITTED,
        /// The file was replaced or removed after it was opened.
        CHANGED,
        /// The store could not be reached, broke off, or asked to try later, and did so at every attempt.
        UNAVAILABLE,
        /// The store responded in a way that cannot be used, or the location is not one that is opened.
        UNSUPPORTED,
        /// There is a file of that name that is not replaced: another writer was faster, or it may be one of a set.
        CONFLICT,
        /// The temporary directory, to which bytes are fetched, cannot be written to.
        NO_SPACE
    }

    /// Describes a failure.
    ///
    /// @param location the file, as [io.undercroft.mmap.spi.RangeSource#location] names it
    /// @param kind what is wrong, for programs
    /// @param reason what is wrong and what to do, for people
    /// @param cause the exception that it is due to, or null
    public RemoteFileException(String location, Kind kind, String reason, @Nullable Throwable cause) {
        super(location, null, reason);
        this.kind = Objects.requireNonNull(kind, "kind");
        if (cause != null) {
            initCause(cause);
        }
    }

    /// {@return what is wrong}
    public Kind kind() {
        return kind;
    }
}
