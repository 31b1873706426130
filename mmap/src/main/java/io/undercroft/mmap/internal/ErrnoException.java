package io.undercroft.mmap.internal;

import java.io.IOException;
import java.util.Map;

/// A call of libc that failed. Callers turn it into a message that says what to do.
public final class ErrnoException extends IOException {
    private static final long serialVersionUID = 1L;

    // These have the same number on Linux and macOS.
    /// Not the owner.
    public static final int EPERM = 1;
    /// No such file.
    public static final int ENOENT = 2;
    /// Interrupted by a signal.
    public static final int EINTR = 4;
    /// No memory, or too many mappings.
    public static final int ENOMEM = 12;
    /// No permission.
    public static final int EACCES = 13;
    /// There already.
    public static final int EEXIST = 17;
    /// An argument makes no sense.
    public static final int EINVAL = 22;
    /// Too many open files in the system.
    public static final int ENFILE = 23;
    /// Too many open files in this process.
    public static final int EMFILE = 24;
    /// Larger than a file may be.
    public static final int EFBIG = 27;
    /// No space left.
    public static final int ENOSPC = 28;

    private static final Map<Integer, String> NAMES = Map.ofEntries(Map.entry(EPERM, "EPERM, operation not permitted"),
            Map.entry(ENOENT, "ENOENT, no such file"), Map.entry(EINTR, "EINTR, interrupted"),
            Map.entry(5, "EIO, the device failed"), Map.entry(ENOMEM, "ENOMEM, out of memory or of mappings"),
            Map.entry(EACCES, "EACCES, permission denied"), Map.entry(EEXIST, "EEXIST, exists already"),
            Map.entry(19, "ENODEV, cannot be mapped"), Map.entry(EINVAL, "EINVAL, invalid argument"),
            Map.entry(ENFILE, "ENFILE, too many open files in the system"),
            Map.entry(EMFILE, "EMFILE, too many open files in this process"),
            Map.entry(EFBIG, "EFBIG, larger than a file may be"), Map.entry(ENOSPC, "ENOSPC, no space left"),
            Map.entry(30, "EROFS, read-only file system"));

    private final int errno;

    ErrnoException(String call, int errno) {
        super(call + " failed with errno " + errno + " (" + NAMES.getOrDefault(errno, "see errno.h") + ")");
        this.errno = errno;
    }

    /// {@return the error number}
    public int errno() {
        return errno;
    }
}
