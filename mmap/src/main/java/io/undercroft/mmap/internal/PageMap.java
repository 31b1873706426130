package io.undercroft.mmap.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/// The pages of a private mapping of a file that were written to, of which the process has private copies.
///
/// Read from `/proc/self/pagemap`, 64 bits a page: whether it is present, swapped out, or the file's. Where that cannot
/// be read, all pages are reported as copies.
final class PageMap {
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

    /// {@return the pages of a segment that are copies}
    ///
    /// @param libc the library
    /// @param segment a private mapping from its start on, alive during the call
    static PageMap ofCopies(Libc libc, MemorySegment segment) {
        long pageSize = libc.pageSize();
        int pages = Math.toIntExact(Math.ceilDiv(segment.byteSize(), pageSize));
        BitSet copies = new BitSet(pages);
        try {
            int fd = libc.open(PATH, Constant.flags(Constant.O_RDONLY, Constant.O_CLOEXEC), 0);
            try {
                read(libc, fd, segment.address() / pageSize, pages, copies);
            } finally {
                libc.close(fd);
            }
        } catch (ErrnoException e) {
            copies.set(0, pages);
        }
        return new PageMap(pageSize, segment.byteSize(), copies);
    }

    private static void read(Libc libc, int fd, long first, int pages, BitSet copies) throws ErrnoException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment entries = arena.allocate(JAVA_LONG, Math.min(CHUNK, pages));
            for (int done = 0; done < pages;) {
                MemorySegment wanted = entries.asSlice(0, Math.min(CHUNK, pages - done) * Long.BYTES);
                int count = (int) (DescriptorBytes.read(libc, fd, (first + done) * Long.BYTES, wanted) / Long.BYTES);
                if (count == 0) {
                    throw new ErrnoException("pread", ErrnoException.EFAULT);
                }
                for (int i = 0; i < count; i++) {
                    copies.set(done + i, isCopy(entries.getAtIndex(JAVA_LONG, i)));
                }
                done += count;
            }
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
