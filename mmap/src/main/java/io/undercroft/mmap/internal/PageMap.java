package io.undercroft.mmap.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/// The pages of a private mapping of a file that were written to, of which the process has private copies.
///
/// Read from `/proc/self/pagemap`, 64 bits a page: whether it is present, swapped out, or the file's. Where that cannot
/// be read, all pages are reported as copies.
public final class PageMap {
    private static final long PRESENT_OR_SWAPPED = 3L << 62;
    private static final long OF_THE_FILE = 1L << 61;
    /// The number of pages in one query.
    private static final long CHUNK = 1 << 15;
    private static final String PATH = "/proc/self/pagemap";

    private final long pageSize;
    private final long nbytes;
    private final BitSet copies;

    private PageMap(long pageSize, long nbytes, BitSet copies) {
        this.pageSize = pageSize;
        this.nbytes = nbytes;
        this.copies = copies;
    }

    /// A visitor of runs of pages.
    @FunctionalInterface
    interface Visitor {
        /// Visits one run.
        ///
        /// @param from the first byte of a run of pages, from the start of the segment
        /// @param length the number of bytes of the segment
        void visit(long from, long length);
    }

    /// A test of a page.
    @FunctionalInterface
    private interface Test {
        /// {@return whether it is met}
        ///
        /// @param page the number of the page
        /// @param isCopy whether it is a private copy
        boolean isMet(long page, boolean isCopy);
    }

    /// {@return the pages of a segment that are copies}
    ///
    /// @param libc the library
    /// @param segment a private mapping from its start on, alive during the call
    static PageMap ofCopies(Libc libc, MemorySegment segment) {
        long pageSize = libc.pageSize();
        int pages = Math.toIntExact(Math.ceilDiv(segment.byteSize(), pageSize));
        BitSet copies = new BitSet(pages);
        try {
            int fd = libc.open(PATH, Constant.O_RDONLY | Constant.O_CLOEXEC, 0);
            try {
                long first = segment.address() / pageSize;
                boolean _ = any(libc, fd, first, first + pages, (page, isCopy) -> {
                    copies.set((int) (page - first), isCopy);
                    return false;
                });
            } finally {
                libc.close(fd);
            }
        } catch (ErrnoException e) {
            copies.set(0, pages);
        }
        return new PageMap(pageSize, segment.byteSize(), copies);
    }

    /// {@return whether pages that a segment touches may be private: copies of those of a file, or of no file} True if
    /// that is not known.
    ///
    /// @param segment mapped bytes, from anywhere on, alive during the call
    /// @throws IllegalStateException if it was closed meanwhile
    public static boolean mayHaveCopies(MemorySegment segment) {
        Reader reader = Reader.INSTANCE;
        boolean mayHave = reader == null || reader.mayHaveCopies(segment);
        if (!segment.scope().isAlive()) {
            throw new IllegalStateException("the bytes were closed");
        }
        return mayHave;
    }

    /// The open file, which stays open, as a save queries it for each chunk.
    private static final class Reader {
        static final @Nullable Reader INSTANCE = open();

        private final Libc libc;
        private final int fd;

        private Reader(Libc libc, int fd) {
            this.libc = libc;
            this.fd = fd;
        }

        /// A system might emulate the file and report nothing in it: memory that was just written to has to be seen.
        private static @Nullable Reader open() {
            Libc libc = Libc.find().orElse(null);
            if (libc == null) {
                return null;
            }
            try (Arena arena = Arena.ofConfined()) {
                Reader reader = new Reader(libc,
                        libc.open(PATH, Constant.O_RDONLY | Constant.O_CLOEXEC, 0));
                MemorySegment written = arena.allocate(libc.pageSize()).fill((byte) 1);
                if (reader.mayHaveCopies(written.asSlice(0, 1))) {
                    return reader;
                }
                libc.close(reader.fd);
                return null;
            } catch (ErrnoException _) {
                return null;
            }
        }

        boolean mayHaveCopies(MemorySegment segment) {
            long pageSize = libc.pageSize();
            long first = segment.address() / pageSize;
            long end = Math.ceilDiv(segment.address() + segment.byteSize(), pageSize);
            try {
                return any(libc, fd, first, end, (_, isCopy) -> isCopy);
            } catch (ErrnoException _) {
                return true;
            }
        }
    }

    /// Reads the entries of pages in order, until one passes a test.
    ///
    /// @return whether one does
    /// @throws ErrnoException if they cannot be read
    private static boolean any(Libc libc, int fd, long first, long end, Test test) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment entries = arena.allocate(JAVA_LONG, Math.min(CHUNK, end - first));
            for (long page = first; page < end;) {
                MemorySegment wanted = entries.asSlice(0, Math.min(CHUNK, end - page) * Long.BYTES);
                long count = DescriptorBytes.read(libc, fd, page * Long.BYTES, wanted) / Long.BYTES;
                if (count == 0) {
                    throw new ErrnoException("pread", ErrnoException.EFAULT);
                }
                for (long i = 0; i < count; i++) {
                    if (test.isMet(page + i, isCopy(entries.getAtIndex(JAVA_LONG, i)))) {
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

    /// {@return the size of the copies in bytes}
    long bytes() {
        return copies.cardinality() * pageSize;
    }

    /// Visits the runs of copies in order.
    ///
    /// @param visitor called for each
    void forEachRun(Visitor visitor) {
        for (int from = copies.nextSetBit(0); from >= 0;) {
            int to = copies.nextClearBit(from);
            long start = from * pageSize;
            visitor.visit(start, Math.min(to * pageSize, nbytes) - start);
            from = copies.nextSetBit(to);
        }
    }
}
