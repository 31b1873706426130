package io.undercroft.mmap;

import io.undercroft.mmap.SharedMemory.Source;
import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.internal.ErrnoException;
import io.undercroft.mmap.internal.FreeMemory;
import io.undercroft.mmap.internal.Libc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/// Shared memory that is known by a descriptor and not by a name.
final class Descriptors {
    private static final Path PROC = Path.of("/proc");
    /// There where `/proc` is not only a directory, but the processes are in it.
    private static final Path SELF = PROC.resolve("self");
    private static final String LABEL = "undercroft";

    private Descriptors() {}

    /// Creates memory of zeros whose descriptor stays open until the last holder releases it.
    static SharedMemory create(Libc libc, long nbytes) throws SharedMemoryException {
        String what = "shared memory without a name";
        OptionalLong free = FreeMemory.bytes();
        if (free.isPresent() && nbytes > free.getAsLong()) {
            // The system would try, and end processes to have enough.
            throw new SharedMemoryException(Reason.FULL, what + " requires " + nbytes + " bytes, but "
                    + free.getAsLong() + " are free: end what uses memory, or ask for less", null);
        }
        try {
            int fd = libc.memfdCreate(LABEL);
            try {
                if (nbytes > 0) {
                    libc.allocate(fd, 0, nbytes);
                }
                Source source = new Source("", path(ProcessHandle.current().pid(), fd), OptionalInt.of(fd),
                        libc.identity(fd));
                SharedMemory memory = SharedMemory.map(libc, source, fd, nbytes, MapMode.SHARED);
                memory.runAfterRelease(() -> libc.close(fd));
                return memory;
            } catch (Throwable e) {
                libc.close(fd);
                throw e;
            }
        } catch (ErrnoException e) {
            throw SharedMemoryException.of(what, nbytes, e);
        }
    }

    /// Attaches what another process has open.
    static SharedMemory attach(Libc libc, long pid, int fd, MapMode mode) throws SharedMemoryException {
        String path = "/proc/" + pid + "/fd/" + fd;
        check(pid, fd, path);
        try {
            // The descriptor may refer to a pipe by now.
            int own = libc.openRegular(Path.of(path), SharedMemory.flag(mode), 0);
            try {
                return attach(libc, own, path, mode);
            } finally {
                libc.close(own);
            }
        } catch (IOException e) {
            throw failure(pid, fd, path, e);
        }
    }

    /// Attaches what this process has open.
    static SharedMemory attach(Libc libc, int fd) throws SharedMemoryException {
        String path = "/dev/fd/" + fd;
        checkMemory(path);
        try {
            return attach(libc, fd, path(ProcessHandle.current().pid(), fd), MapMode.SHARED);
        } catch (ErrnoException e) {
            throw e.errno() == ErrnoException.EACCES
                    ? new SharedMemoryException(Reason.NOT_PERMITTED,
                            path + " is not open for reading and writing; open it so, as bash does with <>", e)
                    : SharedMemoryException.of(path, e);
        }
    }

    private static SharedMemory attach(Libc libc, int fd, @Nullable String filename, MapMode mode)
            throws ErrnoException {
        Source source = new Source("", filename, OptionalInt.empty(), libc.identity(fd));
        return SharedMemory.map(libc, source, fd, libc.size(fd), mode);
    }

    private static @Nullable String path(long pid, int fd) {
        return Files.isDirectory(SELF) ? "/proc/" + pid + "/fd/" + fd : null;
    }

    private static void check(long pid, int fd, String path) throws SharedMemoryException {
        if (!Files.isDirectory(SELF)) {
            throw new SharedMemoryException(Reason.UNSUPPORTED, "the descriptor " + fd + " of process " + pid
                    + " cannot be reached: this system has no /proc; use a name instead", null);
        }
        if (Files.notExists(PROC.resolve(Long.toString(pid)))) {
            throw new SharedMemoryException(Reason.NOT_FOUND, path + " is not there: there is no process " + pid
                    + "; the process that created the memory must run until it is attached", null);
        }
        if (Files.exists(Path.of(path))) {
            checkMemory(path);
        }
    }

    private static void checkMemory(String path) throws SharedMemoryException {
        if (Files.notExists(Path.of(path))) {
            throw new SharedMemoryException(Reason.NOT_FOUND, path
                    + " is not there: no such descriptor is open; ask the process that created it for the number",
                    null);
        }
        if (!Files.isRegularFile(Path.of(path))) {
            throw new SharedMemoryException(Reason.NOT_MEMORY, path
                    + " is open on something else than memory or a regular file; ask the process that created it for "
                    + "the number",
                    null);
        }
    }

    private static SharedMemoryException failure(long pid, int fd, String path, IOException e) {
        int errno = e instanceof ErrnoException known ? known.errno() : 0;
        return switch (errno) {
            case ErrnoException.EACCES, ErrnoException.EPERM -> new SharedMemoryException(Reason.NOT_PERMITTED, path
                    + " may not be opened: process " + pid
                    + " belongs to another user, or the memory may not be written;"
                    + " run as that user, or pass the memory on by a name", e);
            case ErrnoException.ENOENT -> new SharedMemoryException(Reason.NOT_FOUND, path + " is not there: process "
                    + pid + " has no descriptor " + fd + ", or closed it; ask it for the number", e);
            default -> SharedMemoryException.of(path, e);
        };
    }
}
