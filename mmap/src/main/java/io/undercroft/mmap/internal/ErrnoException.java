package io.undercroft.mmap.internal;

import java.io.IOException;
import java.util.Map;

/// A call of libc that failed. Callers turn it into a message with a remedy.
public final class ErrnoException extends IOException {
    private static final long serialVersionUID = 1L;

    /// Not the owner.
    public static final int EPERM = 1;
    /// No such file.
    public static final int ENOENT = 2;
    /// Interrupted by a signal.
    public static final int EINTR = 4;
    /// No such device, or a socket that cannot be opened as a file.
    public static final int ENXIO = 6;
    /// The file is locked by another descriptor, or leased by another program.
    static final int EWOULDBLOCK = 11;
    /// No memory, or too many mappings, or more locked memory than allowed.
    public static final int ENOMEM = 12;
    /// No permission.
    public static final int EACCES = 13;
    /// An address that is not mapped.
    public static final int EFAULT = 14;
    /// There already.
    public static final int EEXIST = 17;
    /// A file that cannot be mapped.
    public static final int ENODEV = 19;
    /// Not a directory.
    public static final int ENOTDIR = 20;
    /// A directory.
    public static final int EISDIR = 21;
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
    /// The file system may not be written.
    public static final int EROFS = 30;
    /// A name, or the whole path, has too many bytes.
    private static final int ENAMETOOLONG = 36;
    /// The system has no such call.
    static final int ENOSYS = 38;
    /// The directory has something in it.
    static final int ENOTEMPTY = 39;
    /// Links lead to themselves.
    private static final int ELOOP = 40;

    private static final Map<Integer, String> NAMES = Map.ofEntries(Map.entry(EPERM, "EPERM, operation not permitted"),
            Map.entry(ENOENT, "ENOENT, no such file"), Map.entry(EINTR, "EINTR, interrupted"),
            Map.entry(5, "EIO, the device failed"), Map.entry(ENOMEM, "ENOMEM, out of memory or of mappings"),
            Map.entry(EWOULDBLOCK, "EAGAIN, not now"), Map.entry(EACCES, "EACCES, permission denied"),
            Map.entry(EFAULT, "EFAULT, nothing at that address"), Map.entry(EEXIST, "EEXIST, exists already"),
            Map.entry(ENODEV, "ENODEV, cannot be mapped"), Map.entry(EINVAL, "EINVAL, invalid argument"),
            Map.entry(ENFILE, "ENFILE, too many open files in the system"),
            Map.entry(EMFILE, "EMFILE, too many open files in this process"),
            Map.entry(EFBIG, "EFBIG, larger than a file may be"), Map.entry(ENOSPC, "ENOSPC, no space left"),
            Map.entry(ENOTDIR, "ENOTDIR, not a directory"), Map.entry(EISDIR, "EISDIR, a directory"),
            Map.entry(EROFS, "EROFS, read-only file system"),
            Map.entry(ENOSYS, "ENOSYS, the system has no such call"),
            Map.entry(ELOOP, "ELOOP, its symbolic links go round in circles"));

    private final int errno;

    ErrnoException(String call, int errno) {
        super(call + " failed with errno " + errno + " (" + NAMES.getOrDefault(errno, "see errno.h") + ")");
        this.errno = errno;
    }

    /// {@return whether it would have had to wait for another program}
    public boolean isBusy() {
        return errno == EWOULDBLOCK;
    }

    /// {@return whether a name, or the whole path, is longer than the file system allows}
    boolean isTooLongName() {
        return errno == ENAMETOOLONG;
    }

    /// Throws this unless the error is one of those that the caller expects.
    ///
    /// @param expected the numbers
    /// @throws ErrnoException this
    public void unless(int... expected) throws ErrnoException {
        for (int each : expected) {
            if (each == errno) {
                return;
            }
        }
        throw this;
    }

    /// {@return the error number}
    public int errno() {
        return errno;
    }
}
