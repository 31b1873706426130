package io.undercroft.mmap.internal;

import static io.undercroft.mmap.internal.Constant.MAP_SHARED;
import static io.undercroft.mmap.internal.Constant.O_DIRECT;
import static io.undercroft.mmap.internal.Constant.O_RDONLY;
import static io.undercroft.mmap.internal.Constant.PROT_READ;

import io.undercroft.mmap.MapMode;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/// Reads of an open file past the page cache (`O_DIRECT`), for bytes that are read once: they take memory once instead
/// of twice, and the pages of other files stay in memory. They need a second descriptor, which is opened when the first
/// bytes are read. Safe for any thread.
final class DirectReads {
    /// Fewer bytes are read faster through the page cache, which is filled ahead of the reader.
    private static final long SMALLEST = 1 << 20;

    private final Libc libc;
    private final int fd;
    private @Nullable PosixFile direct;
    private volatile boolean isRefused;

    /// Reads of a file.
    ///
    /// @param libc the library
    /// @param fd the descriptor of the file, which is open as long as this is used
    DirectReads(Libc libc, int fd) {
        this.libc = libc;
        this.fd = fd;
    }

    /// Reads whole pages from the start of some bytes on, unless they are in the page cache already, are fewer than
    /// 1 MiB, or are not aligned to pages in the file and in memory.
    ///
    /// @param offset the offset in the file
    /// @param into the destination
    /// @return the number of bytes read; the others must be read through the page cache
    long read(long offset, MemorySegment into) {
        boolean isAligned = into.isNative() && libc.pageFloor(into.address()) == into.address();
        if (!isAligned || !isUsedFor(offset, into.byteSize())) {
            return 0;
        }
        long length = libc.pageFloor(into.byteSize());
        long done = 0;
        try {
            while (done < length) {
                long count = libc.pread(descriptor(), into.asSlice(done, length - done), offset + done);
                done += count;
                if (count == 0 || libc.pageFloor(count) != count) {
                    // The file ends here.
                    break;
                }
            }
        } catch (ErrnoException _) {
            // File systems without such reads refuse them at the first one. Buffered ones report all other errors.
            isRefused = true;
        }
        return done;
    }

    /// {@return whether bytes are read in this way, if the memory for them is aligned to pages}
    ///
    /// @param offset the offset in the file
    /// @param nbytes the number of bytes
    boolean isUsedFor(long offset, long nbytes) {
        long length = libc.pageFloor(nbytes);
        if (isRefused || libc.pageFloor(offset) != offset || length < SMALLEST) {
            return false;
        }
        try {
            return !isCached(offset, length);
        } catch (ErrnoException _) {
            isRefused = true;
            return false;
        }
    }

    /// Returns whether half of the pages or more are in the page cache. Only the owner of a file, and those who may
    /// write to it, are told; to others the system says that all pages are there.
    private boolean isCached(long offset, long length) throws ErrnoException {
        long address = libc.mmap(0, length, PROT_READ, MAP_SHARED, fd, offset);
        try {
            return Mapping.residentBytes(libc, address, length) >= length / 2;
        } finally {
            Mapping.unmap(libc, address, length);
        }
    }

    /// By the name of the open descriptor, since another file may have taken the place of this one.
    private synchronized int descriptor() throws ErrnoException {
        if (direct == null) {
            int second = libc.openRegular(Path.of("/proc/self/fd/" + fd), O_RDONLY | O_DIRECT, 0);
            direct = PosixFile.of(libc, second, MapMode.READ_ONLY);
        }
        return direct.descriptor();
    }

    /// Closes the second descriptor.
    synchronized void close() {
        if (direct != null) {
            direct.close();
        }
    }
}
