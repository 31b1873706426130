package io.undercroft.mmap.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// Moves whole runs of bytes between a descriptor and memory, on or off the heap: the system moves as many at a time as
/// it likes, and only those off the heap.
public final class DescriptorBytes {
    private static final long CHUNK = 1 << 20;

    private DescriptorBytes() {}

    /// Reads bytes.
    ///
    /// @param libc the library
    /// @param fd the descriptor to read from
    /// @param offset the offset in the file
    /// @param into the destination
    /// @return the number of bytes read; less than requested at the end of the file only
    /// @throws ErrnoException if it failed
    public static long read(Libc libc, int fd, long offset, MemorySegment into) throws ErrnoException {
        return into.isNative() ? readNative(libc, fd, offset, into) : readHeap(libc, fd, offset, into);
    }

    /// Writes bytes.
    ///
    /// @param libc the library
    /// @param fd the descriptor to write to
    /// @param offset the offset in the file
    /// @param bytes the bytes
    /// @throws ErrnoException if it failed; some may be written then
    public static void write(Libc libc, int fd, long offset, MemorySegment bytes) throws ErrnoException {
        if (bytes.isNative()) {
            writeNative(libc, fd, offset, bytes);
        } else {
            writeHeap(libc, fd, offset, bytes);
        }
    }

    private static long readNative(Libc libc, int fd, long offset, MemorySegment into) throws ErrnoException {
        long done = 0;
        while (done < into.byteSize()) {
            long count = libc.pread(fd, into.asSlice(done), offset + done);
            if (count == 0) {
                break;
            }
            done += count;
        }
        return done;
    }

    private static long readHeap(Libc libc, int fd, long offset, MemorySegment into) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment chunk = arena.allocate(Math.min(CHUNK, into.byteSize()));
            long done = 0;
            while (done < into.byteSize()) {
                long wanted = Math.min(chunk.byteSize(), into.byteSize() - done);
                long count = readNative(libc, fd, offset + done, chunk.asSlice(0, wanted));
                MemorySegment.copy(chunk, 0, into, done, count);
                done += count;
                if (count < wanted) {
                    break;
                }
            }
            return done;
        }
    }

    private static void writeNative(Libc libc, int fd, long offset, MemorySegment bytes) throws ErrnoException {
        long done = 0;
        while (done < bytes.byteSize()) {
            done += libc.pwrite(fd, bytes.asSlice(done), offset + done);
        }
    }

    private static void writeHeap(Libc libc, int fd, long offset, MemorySegment bytes) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment chunk = arena.allocate(Math.min(CHUNK, bytes.byteSize()));
            for (long done = 0; done < bytes.byteSize(); done += chunk.byteSize()) {
                long count = Math.min(chunk.byteSize(), bytes.byteSize() - done);
                MemorySegment.copy(bytes, done, chunk, 0, count);
                writeNative(libc, fd, offset + done, chunk.asSlice(0, count));
            }
        }
    }
}
