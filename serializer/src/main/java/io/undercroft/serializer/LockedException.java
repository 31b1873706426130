package io.undercroft.serializer;

import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.Objects;

/// Thrown if another process or thread is writing to a file. Nothing was changed. Callers may try again; a lock is
/// released at the latest when the process that holds it ends.
public final class LockedException extends FileSystemException {
    private static final long serialVersionUID = 1;

    private final String holder;

    /// Creates an exception.
    ///
    /// @param file the file that was to be written
    /// @param holder the description that the holder wrote, for instance `pid 123 on host since 2026-01-01T00:00:00Z`,
    ///     escaped
    public LockedException(Path file, String holder) {
        this(file, holder, "it is being written by " + holder + "; wait until that has ended, then try again");
    }

    private LockedException(Path file, String holder, String reason) {
        super(file.toString(), null, reason);
        this.holder = Objects.requireNonNull(holder, "holder");
    }

    /// Creates an exception for a file that this process is writing to itself.
    ///
    /// @param file the file that was to be written
    /// @param holder as for the other constructor
    /// @return the exception
    public static LockedException bySelf(Path file, String holder) {
        return new LockedException(file, holder, "it is being written by this process, " + holder
                + "; join the PendingSave of the save before, or wait until the other thread has saved, then try "
                + "again");
    }

    /// {@return the description that the holder of the lock wrote}
    public String holder() {
        return holder;
    }
}
