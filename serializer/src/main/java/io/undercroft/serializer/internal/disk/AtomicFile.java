package io.undercroft.serializer.internal.disk;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.AccessDeniedException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/// A file that appears under its name whole and durable, or not at all.
///
/// The bytes go to a temporary file in the same directory, since only a rename within one file system is atomic. This
/// user alone can open it. [#commit] syncs it, gives it the owner and the mode of the target ([FilePermissions]),
/// renames it over the target and syncs the directory. Closing without a commit deletes the temporary file; the target
/// is not changed. For use by one thread, except for writing.
public final class AtomicFile implements Target.Begun {
    /// An attempt fails if another process deletes the file as abandoned at the moment it is created.
    private static final int ATTEMPTS = 10;

    private final FileTarget target;
    private final Path temporary;
    private final Disk.DiskFile file;
    private final Target.Replacing rule;
    private boolean committed;

    private AtomicFile(FileTarget target, Path temporary, Disk.DiskFile file, Target.Replacing rule) {
        this.rule = rule;
        this.target = target;
        this.temporary = temporary;
        this.file = file;
    }

    /// Starts a file.
    ///
    /// @param target the path; if it is a symbolic link, the file that it points to is replaced
    /// @param rule whether the file there may be replaced
    /// @return the file, empty
    /// @throws IOException if the directory is missing or not writable, or the target is something other than a regular
    ///     file, or one that must not be replaced
    static AtomicFile create(FileTarget target, Target.Replacing rule) throws IOException {
        String name = target.path().toString();
        if (Files.isDirectory(target.file())) {
            throw new FileSystemException(name, null, "it is a directory; name a file in it");
        }
        if (target.exists() && !Files.isRegularFile(target.file())) {
            throw new FileSystemException(name, null,
                    "it is no regular file, but a pipe or a device, and is not replaced by one; take another name");
        }
        target.requireDirectory();
        rule.check(target);
        Path directory = target.directory();
        try {
            AtomicFile file = make(target, rule);
            Temporaries.sweep(file.temporary);
            return file;
        } catch (AccessDeniedException e) {
            throw withCause(
                    new AccessDeniedException(name, null, "the directory " + directory
                            + " is not writable; take a name in another directory, or ask its owner for access"),
                    e);
        } catch (FileSystemException e) {
            if (target.file().toString().equals(e.getFile())) {
                throw e;
            }
            // The message names a temporary file, which callers do not know.
            throw withCause(new FileSystemException(name, null, "nothing can be written in its directory "
                    + directory + ": " + reason(e) + "; no file was made or changed"), e);
        }
    }

    private static AtomicFile make(FileTarget target, Target.Replacing rule) throws IOException {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            AtomicFile file = open(target, Temporaries.name(target.directory()), rule);
            try {
                if (file.file.isAt(file.temporary)) {
                    return file;
                }
            } catch (Throwable e) {
                file.close();
                throw e;
            }
            file.close();
        }
        throw new FileSystemException(target.file().toString(), null,
                "what is written in its directory is deleted at once by another program; find out which");
    }

    private static AtomicFile open(FileTarget target, Path temporary, Target.Replacing rule) throws IOException {
        try {
            return new AtomicFile(target, temporary, target.disk().create(temporary), rule);
        } catch (Throwable e) {
            Temporaries.forget(temporary);
            throw e;
        }
    }

    /// Writes bytes.
    ///
    /// @throws IOException if the disk is full or failing; the message has the target
    @Override
    public void write(long offset, MemorySegment bytes) throws IOException {
        try {
            file.write(offset, bytes);
        } catch (FileSystemException | ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            throw failed("writing " + bytes.byteSize() + " bytes failed", e);
        }
    }

    @Override
    public Order order() {
        return file.order();
    }

    @Override
    public Disk.DiskFile source() {
        return file;
    }

    @Override
    public long size() throws IOException {
        return Files.size(committed ? target.file() : temporary);
    }

    /// {@inheritDoc}
    ///
    /// @throws IOException if that fails, or the rule objects; the target is then not changed, unless the message says
    ///     that only the durability of its name is in doubt
    @Override
    public void commit(Runnable lastWord) throws IOException {
        try {
            if (target.isForced()) {
                file.force();
            }
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            throw failed("bringing it to the disk failed", e);
        }
        lastWord.run();
        rule.check(target);
        // Not closed before, since it would not be locked then, and might be deleted as abandoned. Access is given
        // last, since that releases the lock too (Temporaries); forcing the directory makes it durable with the name.
        try {
            FilePermissions.give(temporary, target.file());
            target.disk().rename(temporary, target.file());
        } catch (AtomicMoveNotSupportedException e) {
            throw failed("its file system cannot rename atomically", e);
        } catch (IOException e) {
            throw failed("giving it its name failed", e);
        }
        committed = true;
        forceName();
    }

    @Override
    public Target.Visibility visibility() {
        return committed ? Target.Visibility.VISIBLE : Target.Visibility.HIDDEN;
    }

    private void forceName() throws IOException {
        try {
            target.forceDirectory();
        } catch (IOException e) {
            throw withCause(new FileSystemException(target.file().toString(), null,
                    "the file was written and has its name, but bringing the name to the disk failed; should the power "
                            + "fail now, the file may be the one before"),
                    e);
        }
    }

    /// Deletes the temporary file unless the file was committed.
    @Override
    public void close() throws IOException {
        try (file) {
            if (!committed) {
                target.disk().delete(temporary);
            }
        } finally {
            Temporaries.forget(temporary);
        }
    }

    private FileSystemException failed(String what, IOException cause) {
        String detail = reason(cause);
        String reason = what + (detail == null ? "" : ": " + detail) + "; no file was made or changed";
        return withCause(new FileSystemException(target.file().toString(), null, reason), cause);
    }

    /// Returns the message of the system without the name of the file, which may be that of the temporary one.
    static @Nullable String reason(IOException cause) {
        return switch (cause) {
            // The directory exists, so the cause is in /proc.
            case NoSuchFileException _ -> "no files can be made there; take a name in another directory";
            case FileSystemException system when system.getReason() == null -> system.getClass().getSimpleName();
            case FileSystemException system -> system.getReason();
            default -> cause.getMessage();
        };
    }

    /// {@return an exception that has a cause now}
    ///
    /// @param exception an exception whose constructor takes none
    /// @param cause the cause
    public static <E extends IOException> E withCause(E exception, Throwable cause) {
        exception.initCause(cause);
        return exception;
    }
}
