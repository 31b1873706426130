package io.undercroft.mmap.internal;

import io.undercroft.mmap.internal.ByteRun.FileRun;
import java.util.ArrayList;
import java.util.List;

/// What of a stitched range is mapped, and what is copied. What is neither are zeros.
///
/// A page of a file can only be mapped at a page of the range. So the range starts as far into its first page as makes
/// that true for the longest run, and for all others whose distance to it in the file equals that in the range, give or
/// take whole pages. Their full pages are mapped; what remains is copied.
///
/// Places are counted from the start of the first page.
///
/// @param lead how far into its first page the range starts, in bytes
/// @param size how many bytes the range ends after
/// @param mapped what is mapped, in order
/// @param copied what is copied, in order
record StitchPlan(long lead, long size, List<Mapped> mapped, List<Copied> copied) {
    /// Shorter runs are copied: a separate mapping would cost more than the copy, and the system allows a process
    /// only some tens of thousands.
    static final long MIN_MAPPED = 16 << 10;

    /// Bytes of a file that are mapped.
    ///
    /// @param fd the descriptor of the file
    /// @param offset where in the file, on a page
    /// @param at where in the range, on a page
    /// @param length how many bytes; whole pages, but at the end of the range
    record Mapped(int fd, long offset, long at, long length) {
        long end() {
            return at + length;
        }
    }

    /// Bytes of a file that are copied.
    ///
    /// @param file which file
    /// @param offset where in the file
    /// @param at where in the range
    /// @param length how many bytes
    record Copied(HostFile file, long offset, long at, long length) {}

    /// {@return a plan that maps what can be mapped}
    ///
    /// @param runs what the range is made of
    /// @param length the sum of their lengths
    /// @param pageSize the size of a page
    static StitchPlan of(List<ByteRun> runs, long length, long pageSize) {
        return new Planning(lead(runs, pageSize), length, pageSize).plan(runs);
    }

    /// {@return a plan that copies all}
    ///
    /// @param runs what the range is made of
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

    /// {@return how many mappings the range takes out of a budget: those of files, and the stretches of memory between
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

    /// A plan while it is made.
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
