package io.undercroft.mmap;

import io.undercroft.mmap.internal.ErrnoException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// Shared memory could not be made, attached or removed. The message is one line and names a remedy.
public final class SharedMemoryException extends IOException {
    private static final long serialVersionUID = 1L;

    private static final Path HOME = Path.of("/dev/shm");

    private final Reason reason;

    /// Why.
    public enum Reason {
        /// The name is not one that shared memory can have.
        BAD_NAME,
        /// A segment of that name is there already.
        EXISTS,
        /// There is no segment of that name.
        NOT_FOUND,
        /// The segment belongs to another user.
        NOT_PERMITTED,
        /// There is not that much shared memory left.
        FULL,
        /// A name or a descriptor stands for neither memory nor a regular file.
        NOT_MEMORY,
        /// The registry of holders next to the segments cannot be used; the message names the directory.
        REGISTRY,
        /// This system has no POSIX shared memory, or it is not to be reached from this JVM.
        UNSUPPORTED,
        /// The system refused for another reason, which is the cause.
        SYSTEM
    }

    /// Describes a failure.
    ///
    /// @param reason why, for programs
    /// @param message why, for people: what, and what to do
    /// @param cause the error of the system call, or null
    public SharedMemoryException(Reason reason, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.reason = Objects.requireNonNull(reason, "reason");
    }

    /// {@return why}
    public Reason reason() {
        return reason;
    }

    /// {@return a failure of a call that allocates bytes}
    ///
    /// @param what what was to be made or made larger
    /// @param nbytes its requested size
    /// @param e the error of the system call
    static SharedMemoryException of(String what, long nbytes, IOException e) {
        return switch (errno(e)) {
            case ErrnoException.ENOSPC, ErrnoException.EFBIG -> full(what, nbytes, e);
            case ErrnoException.ENOMEM -> new SharedMemoryException(Reason.FULL, what + " requires " + nbytes
                    + " bytes, but there is no memory, or no mapping, available: unmap others, or raise the limits "
                    + "(sysctl"
                    + " vm.max_map_count, ulimit -v)", e);
            default -> of(what, e);
        };
    }

    /// {@return any other failure}
    ///
    /// @param what what was to be made, attached or removed
    /// @param e the error of the system call
    static SharedMemoryException of(String what, IOException e) {
        if (e instanceof SharedMemoryException refused) {
            return new SharedMemoryException(refused.reason(), what + " cannot be used: " + e.getMessage(), e);
        }
        return switch (errno(e)) {
            case ErrnoException.EEXIST -> new SharedMemoryException(Reason.EXISTS,
                    what + " exists already: attach to it, unlink it first, or choose another name", e);
            case ErrnoException.ENOENT, ErrnoException.ENOTDIR -> missing(what, e);
            case ErrnoException.EACCES, ErrnoException.EPERM -> new SharedMemoryException(Reason.NOT_PERMITTED,
                    what + " may not be used: it, or " + HOME + ", belongs to another user; run as that user", e);
            case ErrnoException.ENODEV -> new SharedMemoryException(Reason.NOT_MEMORY, what
                    + " is no memory but something else (a pipe, a directory, a link, a device); choose another"
                    + " name, or move it away", e);
            case ErrnoException.EROFS -> new SharedMemoryException(Reason.NOT_PERMITTED, what
                    + " cannot be changed: " + HOME + " is mounted for reading only; mount -o remount,rw " + HOME, e);
            case ErrnoException.EMFILE, ErrnoException.ENFILE -> new SharedMemoryException(Reason.SYSTEM,
                    what + " cannot be opened: too many files are open; close some, or raise the limit (ulimit -n)", e);
            case ErrnoException.ENOMEM -> new SharedMemoryException(Reason.SYSTEM,
                    what + " cannot be mapped: unmap others, or raise the limits (sysctl vm.max_map_count, ulimit -v)",
                    e);
            case ErrnoException.ENOSPC -> new SharedMemoryException(Reason.FULL, what
                    + " cannot be registered: " + HOME + " has no files left (df -i " + HOME + "); unlink what is no"
                    + " longer used", e);
            default -> new SharedMemoryException(Reason.SYSTEM, what + ": " + e.getMessage(), e);
        };
    }

    private static SharedMemoryException full(String what, long nbytes, IOException e) {
        return new SharedMemoryException(Reason.FULL, what + " requires " + nbytes + " bytes, but " + free()
                + ": unlink what is no longer used, or enlarge it (docker run --shm-size=SIZE; in Kubernetes an "
                + "emptyDir of medium Memory at /dev/shm; on a host mount -o remount,size=SIZE /dev/shm)", e);
    }

    private static SharedMemoryException missing(String what, IOException e) {
        if (!Files.isDirectory(HOME)) {
            return new SharedMemoryException(Reason.UNSUPPORTED,
                    what + ": this system has no " + HOME + "; mount a tmpfs there", e);
        }
        return new SharedMemoryException(Reason.NOT_FOUND, what
                + " is not there: it was never created, or it was unlinked; create it, or ask its owner for the name",
                e);
    }

    private static String free() {
        try {
            return Files.getFileStore(HOME).getUsableSpace() + " are free in " + HOME;
        } catch (IOException e) {
            return "there is not so much free";
        }
    }

    /// Returns the error number, or 0 if it is something else.
    private static int errno(IOException e) {
        return e instanceof ErrnoException errno ? errno.errno() : 0;
    }
}
