package io.undercroft.mmap.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// The pages of private mappings of files that were written to, of which the process has private copies.
///
/// Read from `/proc/self/pagemap`, 64 bits a page: whether it is present, swapped out, or the file's. Where that cannot
/// be read, all pages are reported as copies. The file stays open, as a save queries it for each chunk.
///
/// @param libc the library
/// @param fd the descriptor of the file
public record PageMap(Libc libc, int fd) {
    private static final long PRESENT_OR_SWAPPED = 3L << 62;
    private static final long OF_THE_FILE = 1L << 61;
    /// The number of pages in one query.
    private static final long CHUNK = 1 << 15;

    /// Some bytes of a segment.
    ///
    /// @param from the first of them
    /// @param length the number of bytes
    record Span(long from, long length) {}

    /// A test of a page that is a copy.
    @FunctionalInterface
    private interface Test {
        /// {@return whether it is met}
        ///
        /// @param page the number of the page
        boolean isMet(long page);
    }

    /// Opens the file at the first need.
    private static final class Shared {
        static final @Nullable PageMap MAP = open();

        /// A system might emulate the file and report nothing in it: memory that was just written to has to be seen.
        private static @Nullable PageMap open() {
            Libc libc = Libc.find().orElse(null);
            if (libc == null) {
                return null;
            }
            try (Arena arena = Arena.ofConfined()) {
                PageMap map = new PageMap(libc,
                        libc.open("/proc/self/pagemap", LinuxConstants.O_RDONLY | LinuxConstants.O_CLOEXEC, 0));
                MemorySegment written = arena.allocate(libc.pageSize()).fill((byte) 1);
                if (map.any(written.asSlice(0, 1), _ -> true)) {
                    return map;
                }
                libc.close(map.fd);
                return null;
            } catch (ErrnoException _) {
                return null;
            }
        }
    }

    /// {@return the runs of pages of a segment that are copies, in order}
    ///
    /// @param segment a private mapping from its start on, alive during the call
    static List<Span> copies(MemorySegment segment) {
        PageMap map = Shared.MAP;
        List<Span> all = List.of(new Span(0, segment.byteSize()));
        if (map == null) {
            return all;
        }
        long pageSize = map.libc.pageSize();
        List<Span> copies = new ArrayList<>();
        try {
            boolean _ = map.any(segment, page -> {
                long from = page * pageSize - segment.address();
                Span before = copies.isEmpty() ? new Span(from, 0) : copies.removeLast();
                if (before.from + before.length < from) {
                    copies.add(before);
                    before = new Span(from, 0);
                }
                copies.add(new Span(before.from, Math.min(from + pageSize, segment.byteSize()) - before.from));
                return false;
            });
            return copies;
        } catch (ErrnoException _) {
            return all;
        }
    }

    /// {@return whether pages that a segment touches may be private: copies of those of a file, or of no file} True if
    /// that is not known.
    ///
    /// @param segment mapped bytes, from anywhere on, alive during the call
    /// @throws IllegalStateException if it was closed meanwhile
    public static boolean mayHaveCopies(MemorySegment segment) {
        PageMap map = Shared.MAP;
        boolean mayHave = true;
        try {
            mayHave = map == null || map.any(segment, _ -> true);
        } catch (ErrnoException _) {
            // It is not known.
        }
        if (!segment.scope().isAlive()) {
            throw new IllegalStateException("the bytes were closed");
        }
        return mayHave;
    }

    /// Reads the entries of the pages that a segment touches in order, until a copy passes a test.
    ///
    /// @return whether one does
    /// @throws ErrnoException if they cannot be read
    private boolean any(MemorySegment segment, Test test) throws ErrnoException {
        long first = segment.address() / libc.pageSize();
        long end = Math.ceilDiv(segment.address() + segment.byteSize(), libc.pageSize());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment entries = arena.allocate(JAVA_LONG, Math.min(CHUNK, end - first));
            for (long page = first; page < end;) {
                MemorySegment wanted = entries.asSlice(0, Math.min(CHUNK, end - page) * Long.BYTES);
                long count = libc.read(fd, page * Long.BYTES, wanted) / Long.BYTES;
                if (count == 0) {
                    throw new ErrnoException("pread", ErrnoException.EFAULT);
                }
                for (long i = 0; i < count; i++) {
                    if (isCopy(entries.getAtIndex(JAVA_LONG, i)) && test.isMet(page + i)) {
                        return true;
                    }
                }
                page += count;
            }
            return false;
        }
    }

    private static boolean isCopy(long entry) {
        return (entry & PRESENT_OR_SWAPPED) != 0 && (entry & OF_THE_FILE) == 0;
    }
}
