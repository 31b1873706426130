package io.undercroft.mmap.internal;

import io.undercroft.mmap.internal.ByteRun.FileRun;
import java.util.ArrayList;
import java.util.List;

/// The parts of a stitched range that are mapped, and those that are copied. The rest are zeros.
///
/// A page of a file can only be mapped at a page of the range. So the offset of the range in its first page is chosen
/// such that the pages of the longest run, and of all runs with the same offset modulo the page size, are at pages of
/// the range. Their full pages are mapped; the rest is copied.
///
/// Offsets in the range count from the start of its first page.
///
/// @param lead the offset of the range in its first page, in bytes
/// @param size the number of bytes up to the end of the range
/// @param mapped the parts to map, in order
/// @param copied the parts to copy, in order
record StitchPlan(long lead, long size, List<Mapped> mapped, List<Copied> copied) {
    /// Shorter runs are copied: a separate mapping would cost more than the copy, and the system allows a process
    /// only some tens of thousands.
    static final long MIN_MAPPED = 16 << 10;

    /// Bytes of a file that are mapped.
    ///
    /// @param fd the descriptor of the file
    /// @param offset the offset in the file, on a page
    /// @param at the offset in the range, on a page
    /// @param length the number of bytes; whole pages, but at the end of the range
    record Mapped(int fd, long offset, long at, long length) {
        long end() {
            return at + length;
        }
    }

    /// Bytes of a file that are copied.
    ///
    /// @param file the file
    /// @param offset the offset in the file
    /// @param at the offset in the range
    /// @param length the number of bytes
    record Copied(HostFile file, long offset, long at, long length) {}

    /// {@return a plan that maps what can be mapped}
    ///
    /// @param runs the parts of the range, in order
    /// @param length the sum of their lengths
    /// @param pageSize the size of a page
    static StitchPlan of(List<ByteRun> runs, long length, long pageSize) {
        return new Planning(lead(runs, pageSize), length, pageSize).plan(runs);
    }

    /// {@return a plan that copies all}
    ///
    /// @param runs the parts of the range, in order
    /// @param length the sum of their lengths
    static StitchPlan copying(List<ByteRun> runs, long length) {
        List<Copied> copied = new ArrayList<>();
        long at = 0;
        for (ByteRun run : runs) {
            if (run instanceof FileRun(HostFile file, long offset, long size)) {
                copied.add(new Copied(file, offset, at, size));
            }
            at += run.length();
        }
        return new StitchPlan(0, length, List.of(), copied);
    }

    /// {@return the number of mappings that count against a budget: those of files, and the stretches of memory between
    /// them; none if all is copied, as neighbouring memory becomes one mapping}
    int mappings() {
        if (mapped.isEmpty()) {
            return 0;
        }
        int mappings = mapped.size();
        long end = 0;
        for (Mapped part : mapped) {
            mappings += part.at() > end ? 1 : 0;
            end = part.end();
        }
        return mappings + (size > end ? 1 : 0);
    }

    private static long lead(List<ByteRun> runs, long pageSize) {
        long at = 0;
        long longest = 0;
        long lead = 0;
        for (ByteRun run : runs) {
            if (run instanceof FileRun(HostFile _, long offset, long size) && size > longest) {
                longest = size;
                lead = Math.floorMod(offset - at, pageSize);
            }
            at += run.length();
        }
        return lead;
    }

    /// A plan under construction.
    private static final class Planning {
        private final List<Mapped> mapped = new ArrayList<>();
        private final List<Copied> copied = new ArrayList<>();
        private final long lead;
        private final long size;
        private final long pageSize;

        Planning(long lead, long length, long pageSize) {
            this.lead = lead;
            this.size = Math.addExact(lead, length);
            this.pageSize = pageSize;
        }

        StitchPlan plan(List<ByteRun> runs) {
            long at = lead;
            for (ByteRun run : runs) {
                if (run instanceof FileRun file) {
                    place(file, at);
                }
                at += run.length();
            }
            return new StitchPlan(lead, size, mapped, copied);
        }

        /// Bytes before the first run and after the last are not part of the range, so there the mapping may run to the
        /// end of the page.
        private void place(FileRun run, long at) {
            long end = at + run.length();
            long from = at == lead ? floor(at) : floor(at + pageSize - 1);
            long to = end == size ? end : floor(end);
            boolean inStep = Math.floorMod(run.offset() - at, pageSize) == 0;
            if (!(run.file() instanceof PosixFile file) || !inStep || to - from < MIN_MAPPED) {
                copy(run, at, at, end);
                return;
            }
            copy(run, at, at, from);
            mapped.add(new Mapped(file.descriptor(), run.offset() + (from - at), from, to - from));
            copy(run, at, to, end);
        }

        private void copy(FileRun run, long at, long from, long to) {
            if (from < to) {
                copied.add(new Copied(run.file(), run.offset() + (from - at), from, to - from));
            }
        }

        private long floor(long bytes) {
            return bytes & -pageSize;
        }
    }
}
