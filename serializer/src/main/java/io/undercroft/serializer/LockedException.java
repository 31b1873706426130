package io.undercroft.serializer;

import java.nio.file.FileSystemException;
import java.nio.file.Path;

/// Somebody else is writing to a file: another process, or another thread of this one. Nothing was changed. Whoever
/// waits may simply try again; a lock ends with the process that holds it.
public final class LockedException extends FileSystemException {
    private static final long serialVersionUID = 1;

    private final String holder;

    /// A lock that could not be had.
    ///
    /// @param file the file that was to be written
    /// @param holder what its holder says about itself, for instance `pid 123 on host since 2026-01-01T00:00:00Z`; text
    ///     from somebody else, escaped
    public LockedException(Path file, String holder) {
        super(file.toString(), null,
                "it is being written by " + holder + "; wait until that has ended, then try again");
        this.holder = holder;
    }

    /// {@return what the holder of the lock says about itself}
    public String holder() {
        return holder;
    }
}
