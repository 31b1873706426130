package io.undercroft.mmap.internal;

import java.lang.System.Logger.Level;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;

/// A file in memory without a name, of which ranges are allocated. A process has one, as descriptors are limited.
///
/// It is as long as it can be from the start, and takes memory only where something was written. So no range is
/// allocated twice, and no search for a free one is needed.
public final class MemoryFile {
    /// Ranges start at multiples of what a table of pages covers. A gap after each keeps the system from making one
    /// mapping of two, of which a part could not be taken away any more where mappings are scarce.
    static final long ALIGNMENT = 2L << 20;

    private static final long SIZE = 1L << 62;
    private static final System.Logger LOG = System.getLogger(MemoryFile.class.getName());

    private final Libc libc;
    private final int fd;
    private final AtomicLong next = new AtomicLong();

    private MemoryFile(Libc libc, int fd) {
        this.libc = libc;
        this.fd = fd;
    }

    /// Makes the file at the first need; it stays as long as the process.
    private static final class Shared {
        static final Optional<MemoryFile> FILE = Libc.find().flatMap(MemoryFile::create);
    }

    /// {@return the file of this process, or nothing where there is no such thing}
    public static Optional<MemoryFile> find() {
        return Shared.FILE;
    }

    private static Optional<MemoryFile> create(Libc libc) {
        try {
            int fd = libc.memfdCreate("undercroft");
            try {
                libc.truncate(fd, SIZE);
                return Optional.of(new MemoryFile(libc, fd));
            } catch (ErrnoException e) {
                libc.close(fd);
                throw e;
            }
        } catch (ErrnoException e) {
            LOG.log(Level.WARNING, () -> "memory cannot be frozen here, and will be copied: " + e.getMessage());
            return Optional.empty();
        }
    }

    /// {@return the descriptor}
    int descriptor() {
        return fd;
    }

    /// Hands out a range of zeros.
    ///
    /// @param length its size in bytes
    /// @return its offset, in bytes; a multiple of [#ALIGNMENT]
    long take(long length) {
        long step = Math.addExact(length, 2 * ALIGNMENT - 1) & -ALIGNMENT;
        return next.getAndAdd(step);
    }

    /// Takes a range back, and gives its memory to the system.
    ///
    /// @param offset its offset
    /// @param length its size in bytes
    void giveBack(long offset, long length) {
        try {
            libc.punchHole(fd, offset, length);
        } catch (ErrnoException e) {
            LOG.log(Level.WARNING, () -> length + " bytes of memory stay taken: " + e.getMessage());
        }
    }
}
