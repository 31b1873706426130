package io.undercroft.mmap.internal;

import static io.undercroft.mmap.internal.LinuxConstants.MAP_ANONYMOUS;
import static io.undercroft.mmap.internal.LinuxConstants.MAP_PRIVATE;
import static io.undercroft.mmap.internal.LinuxConstants.PROT_READ;
import static io.undercroft.mmap.internal.LinuxConstants.PROT_WRITE;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.undercroft.mmap.ReadAdvice;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/// Ranges of addresses that `mmap` returned and that are unmapped once: when the arena of their segment is closed or,
/// if it is not, when the arena and all its segments are unreachable.
public final class Mapping {
    static final int READ_WRITE = PROT_READ | PROT_WRITE;

    /// The number of pages in one query.
    private static final long RESIDENCE_PAGES = 1 << 16;

    /// Unused mappings that could not be unmapped because the process had as many mappings as allowed.
    private static final Queue<Range> LEFT = new ConcurrentLinkedQueue<>();

    /// Mapped addresses.
    private record Range(long address, long length) {}

    private Mapping() {}

    /// Unmaps addresses.
    private record Unmapping(Libc libc, long address, long length) implements Runnable {
        @Override
        public void run() {
            unmap(libc, address, length);
        }
    }

    /// Returns a segment over mapped addresses, which are unmapped when the arena is closed; at once if it is closed
    /// already.
    ///
    /// @param libc the library
    /// @param address the address of the mapping, on a page boundary
    /// @param length its size in bytes
    /// @param arena its lifetime
    /// @return the segment
    /// @throws IllegalStateException if the arena is closed
    public static MemorySegment segment(Libc libc, long address, long length, Arena arena) {
        return segment(address, length, arena, new Unmapping(libc, address, length));
    }

    /// The same, with an action that runs when the addresses are unmapped.
    ///
    /// @param libc the library
    /// @param address the address of the mapping, on a page boundary
    /// @param length its size in bytes
    /// @param arena its lifetime
    /// @param atEnd run once, after they are unmapped; must not throw, nor reach the arena
    /// @return the segment
    /// @throws IllegalStateException if the arena is closed
    static MemorySegment segment(Libc libc, long address, long length, Arena arena, Runnable atEnd) {
        return segment(address, length, arena, () -> {
            unmap(libc, address, length);
            atEnd.run();
        });
    }

    @SuppressWarnings("restricted")
    private static MemorySegment segment(long address, long length, Arena arena, Runnable atEnd) {
        ArenaCleanup unmap = new ArenaCleanup(ArenaCleanup.CLEANER, atEnd);
        try {
            return MemorySegment.ofAddress(address).reinterpret(length, arena, unmap);
        } catch (IllegalStateException closed) {
            unmap.run();
            throw closed;
        }
    }

    /// Maps zeroed memory that no file backs.
    ///
    /// @param libc the library
    /// @param length its size in bytes, more than 0
    /// @param arena its lifetime
    /// @return the segment, on a page boundary
    /// @throws ErrnoException if there is no such memory
    public static MemorySegment anonymous(Libc libc, long length, Arena arena) throws ErrnoException {
        return anonymous(libc, length, arena, () -> {});
    }

    /// The same, with an action that runs when the memory is unmapped.
    ///
    /// @param libc the library
    /// @param length its size in bytes, more than 0
    /// @param arena its lifetime
    /// @param atEnd run once, after it is unmapped; must not throw, nor reach the arena
    /// @return the segment, on a page boundary
    /// @throws ErrnoException if there is no such memory; `atEnd` is not run then
    static MemorySegment anonymous(Libc libc, long length, Arena arena, Runnable atEnd) throws ErrnoException {
        long address = libc.mmap(0, length, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return segment(libc, address, length, arena, atEnd);
    }

    /// Gives advice on the pages that a segment touches. A hint: if it is not supported, nothing happens.
    ///
    /// @param libc the library
    /// @param segment the bytes, of a mapping that stays alive during the call
    /// @param advice the advice
    public static void advise(Libc libc, MemorySegment segment, ReadAdvice advice) {
        if (segment.byteSize() == 0) {
            return;
        }
        long start = libc.pageFloor(segment.address());
        try {
            libc.madvise(start, segment.address() + segment.byteSize() - start, number(advice));
        } catch (ErrnoException ignored) {
            // An older kernel, or memory it does not apply to.
        }
    }

    /// Allocates the memory of all pages of a segment now, for writing. If the system has no call for that, zeros are
    /// written.
    ///
    /// @param libc the library
    /// @param segment new memory, of a mapping that stays alive during the call; its bytes stay 0
    /// @throws ErrnoException if there is not that much
    public static void populate(Libc libc, MemorySegment segment) throws ErrnoException {
        try {
            libc.madvise(segment.address(), segment.byteSize(), LinuxConstants.MADV_POPULATE_WRITE);
        } catch (ErrnoException e) {
            e.unless(ErrnoException.EINVAL);
            segment.fill((byte) 0);
        }
    }

    /// Discards the copies of pages of a private mapping, which then show the file again. A hint: locked pages are not
    /// discarded.
    ///
    /// @param libc the library
    /// @param segment whole pages from a page boundary on, of a mapping that stays alive during the call
    static void forget(Libc libc, MemorySegment segment) {
        try {
            libc.madvise(segment.address(), segment.byteSize(), LinuxConstants.MADV_DONTNEED);
        } catch (ErrnoException ignored) {
            // They are still copies, and equal to the file.
        }
    }

    /// Counts the pages of a segment that are in memory.
    ///
    /// @param libc the library
    /// @param segment the bytes, of a mapping that stays alive during the call
    /// @return their size in bytes
    /// @throws ErrnoException if the system call fails
    public static long residentBytes(Libc libc, MemorySegment segment) throws ErrnoException {
        return segment.byteSize() == 0 ? 0 : residentBytes(libc, segment.address(), segment.byteSize());
    }

    /// Counts the pages of mapped addresses that are in memory.
    ///
    /// @param libc the library
    /// @param address the first one
    /// @param nbytes how many there are, more than 0
    /// @return the size of these pages in bytes
    /// @throws ErrnoException if the system call fails
    static long residentBytes(Libc libc, long address, long nbytes) throws ErrnoException {
        long end = libc.pageCeil(address + nbytes);
        long chunk = RESIDENCE_PAGES * libc.pageSize();
        long resident = 0;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pages = arena.allocate(RESIDENCE_PAGES);
            for (long at = libc.pageFloor(address); at < end; at += chunk) {
                long length = Math.min(chunk, end - at);
                libc.mincore(at, length, pages);
                resident += pages.asSlice(0, length / libc.pageSize()).elements(JAVA_BYTE)
                        .filter(page -> (page.get(JAVA_BYTE, 0) & 1) != 0).count();
            }
        }
        return resident * libc.pageSize();
    }

    /// Unmaps addresses. If the system refuses that, they are unmapped when other addresses are.
    ///
    /// @param libc the library
    /// @param address their address
    /// @param length the number of bytes; 0 does nothing
    static void unmap(Libc libc, long address, long length) {
        if (length == 0) {
            return;
        }
        if (!isUnmapped(libc, new Range(address, length))) {
            return;
        }
        for (Range left = LEFT.poll(); left != null; left = LEFT.poll()) {
            if (!isUnmapped(libc, left)) {
                return;
            }
        }
    }

    private static boolean isUnmapped(Libc libc, Range range) {
        try {
            libc.munmap(range.address, range.length);
            return true;
        } catch (ErrnoException e) {
            // Unmapping a part of a mapping that the kernel merged with its neighbours needs one more mapping.
            if (e.errno() == ErrnoException.ENOMEM) {
                LEFT.add(range);
            }
            System.getLogger(Mapping.class.getName()).log(Level.WARNING,
                    range.length + " bytes stay mapped: " + e.getMessage());
            return false;
        }
    }

    private static int number(ReadAdvice advice) {
        return switch (advice) {
            case NORMAL -> LinuxConstants.MADV_NORMAL;
            case SEQUENTIAL -> LinuxConstants.MADV_SEQUENTIAL;
            case RANDOM -> LinuxConstants.MADV_RANDOM;
            case WILL_NEED -> LinuxConstants.MADV_WILLNEED;
            case DONT_NEED -> LinuxConstants.MADV_PAGEOUT;
            case HUGE_PAGES -> LinuxConstants.MADV_HUGEPAGE;
            case POPULATE_READ -> LinuxConstants.MADV_POPULATE_READ;
            case POPULATE_WRITE -> LinuxConstants.MADV_POPULATE_WRITE;
        };
    }
}
