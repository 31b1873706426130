package io.undercroft.mmap;

import java.nio.file.FileSystemException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// Thrown if a file in a store, such as one on a web server, cannot be opened, read or written. The message is one
/// line: the file, the problem, and a remedy.
///
/// Access to deferred bytes of a storage throws a [MappingException] with this exception as its cause.
public final class RemoteFileException extends FileSystemException {
    private static final long serialVersionUID = 1L;

    private final Kind kind;

    /// The kind of the problem.
    public enum Kind {
        /// The file does not exist.
        NOT_FOUND,
        /// Credentials are missing or do not permit the operation.
        NOT_PERMITTED,
        /// The file was replaced or removed after it was opened.
        CHANGED,
        /// The store was not reachable, closed the connection, or asked to retry later, at every attempt.
        UNAVAILABLE,
        /// The response of the store, or the location, is not supported.
        UNSUPPORTED,
        /// A file of that name is not replaced: another writer has written it, or it may belong to a set.
        CONFLICT,
        /// The temporary directory, to which bytes are fetched, cannot be written to.
        NO_SPACE
    }

    /// Describes a failure.
    ///
    /// @param location the file, as [io.undercroft.mmap.spi.RangeSource#location] names it
    /// @param kind what is wrong, for programs
    /// @param reason the problem and the remedy, for people
    /// @param cause the cause, or null
    public RemoteFileException(String location, Kind kind, String reason, @Nullable Throwable cause) {
        super(location, null, reason);
        this.kind = Objects.requireNonNull(kind, "kind");
        if (cause != null) {
            initCause(cause);
        }
    }

    /// {@return the kind of the problem}
    public Kind kind() {
        return kind;
    }
}
