package io.undercroft.mmap.internal;

import static io.undercroft.mmap.internal.LinuxConstants.MAP_ANONYMOUS;
import static io.undercroft.mmap.internal.LinuxConstants.MAP_FIXED;
import static io.undercroft.mmap.internal.LinuxConstants.MAP_FIXED_NOREPLACE;
import static io.undercroft.mmap.internal.LinuxConstants.MAP_NORESERVE;
import static io.undercroft.mmap.internal.LinuxConstants.MAP_PRIVATE;

import io.undercroft.mmap.MapBudget;
import io.undercroft.storage.Storage;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// One range of addresses made of runs of several files, and of zeros.
///
/// ## The plan
///
/// A page of a file can only be mapped at a page of the range. So the offset of the range in its first page, the lead,
/// is chosen such that the pages of the longest run, and of all runs with the same offset modulo the page size, are at
/// pages of the range. Their full pages are mapped; the rest of them, other runs and short ones are copied. All is
/// copied if the [MapBudget] has fewer mappings left than the plan needs. What is neither mapped nor copied is zeros.
///
/// ## The reservation
///
/// First a range of zeros is mapped that takes no memory until it is written to; then the files are mapped over it, and
/// the copies are written. Mapping a file over a part of the zeros (`MAP_FIXED`) makes the kernel split their mapping,
/// which takes 3.4 µs each time. If many parts follow each other, it takes 2.3 µs to unmap the zeros first, and to map
/// into the gap. But another thread may map something into the gap meanwhile. So gaps are short and are filled by calls
/// that never replace a mapping (`MAP_FIXED_NOREPLACE`); if addresses of a gap are taken, the reservation is made again
/// without gaps.
///
/// ## Truncation
///
/// The system maps what a file does not have. So the sizes of the files are checked after they were mapped.
///
/// For use by one thread.
public final class StitchedMapping {
    /// Shorter runs are copied: a separate mapping would cost more than the copy, and the system allows a process
    /// only some tens of thousands.
    private static final long MIN_MAPPED = 16 << 10;
    /// Instead of the size of a page: nothing is mapped.
    private static final long NO_PAGES = 0;

    private final List<Part> mapped = new ArrayList<>();
    private final List<Part> copied = new ArrayList<>();
    private final long pageSize;
    private final long lead;
    /// The number of bytes from the start of the first page to the end of the range.
    private final long size;

    /// A part of a range.
    ///
    /// @param file the file, or null for zeros
    /// @param offset the offset of the first byte in the file
    /// @param length the number of bytes
    public record Run(@Nullable HostFile file, long offset, long length) {
        /// {@return this run and another one that continues it, or null if it does not}
        ///
        /// @param next the other one
        public @Nullable Run with(Run next) {
            return file == next.file && (file == null || offset + length == next.offset)
                    ? new Run(file, offset, Math.addExact(length, next.length))
                    : null;
        }
    }

    /// Bytes of a file that are mapped or copied.
    ///
    /// @param file the file
    /// @param offset the offset in the file
    /// @param at the offset in the range, counted from the start of its first page
    /// @param length the number of bytes
    record Part(HostFile file, long offset, long at, long length) {
        long end() {
            return at + length;
        }
    }

    private StitchedMapping(List<Run> runs, long length, long pageSize) {
        this.pageSize = pageSize;
        this.lead = pageSize == NO_PAGES ? 0 : lead(runs, pageSize);
        this.size = Math.addExact(lead, length);
        long at = lead;
        for (Run run : runs) {
            if (run.file != null) {
                place(run.file, run.offset, at, at + run.length);
            }
            at += run.length;
        }
    }

    private static long lead(List<Run> runs, long pageSize) {
        long at = 0;
        long longest = 0;
        long lead = 0;
        for (Run run : runs) {
            if (run.file != null && run.length > longest) {
                longest = run.length;
                lead = Math.floorMod(run.offset - at, pageSize);
            }
            at += run.length;
        }
        return lead;
    }

    /// Bytes before the first run and after the last are not part of the range, so there the mapping may run to the end
    /// of the page.
    private void place(HostFile file, long offset, long at, long end) {
        long from = at == lead ? floor(at) : floor(at + pageSize - 1);
        long to = end == size ? end : floor(end);
        boolean isMapped = pageSize != NO_PAGES && file instanceof PosixFile
                && Math.floorMod(offset - at, pageSize) == 0 && to - from >= MIN_MAPPED;
        if (!isMapped) {
            copied.add(new Part(file, offset, at, end - at));
            return;
        }
        if (at < from) {
            copied.add(new Part(file, offset, at, from - at));
        }
        mapped.add(new Part(file, offset + from - at, from, to - from));
        if (to < end) {
            copied.add(new Part(file, offset + to - at, to, end - to));
        }
    }

    private long floor(long bytes) {
        return bytes & -pageSize;
    }

    /// Returns the number of mappings that count against a budget: those of files, and the stretches of memory between
    /// them; none if all is copied, as neighbouring memory becomes one mapping.
    private int mappings() {
        int mappings = mapped.size();
        long end = 0;
        for (Part part : mapped) {
            mappings += part.at > end ? 1 : 0;
            end = part.end();
        }
        return mapped.isEmpty() || size <= end ? mappings : mappings + 1;
    }

    /// Copies runs into memory of an arena.
    ///
    /// @param runs the runs, none of them empty
    /// @param length the sum of their lengths
    /// @param arena the lifetime of the memory
    /// @return the memory
    /// @throws IOException if reading failed
    static MemorySegment copied(List<Run> runs, long length, Arena arena) throws IOException {
        MemorySegment range = arena.allocate(length, Storage.ALIGNMENT);
        new StitchedMapping(runs, length, NO_PAGES).copy(range);
        return range;
    }

    /// Maps runs within a budget, and copies what exceeds it.
    ///
    /// @param libc the library
    /// @param runs the runs, none of them empty
    /// @param length the sum of their lengths
    /// @param protection the protection of the pages
    /// @param flags the flags of the mapping
    /// @param budget the budget that the mappings count against until they are unmapped
    /// @param arena the lifetime of the range
    /// @return the range
    /// @throws IOException if mapping or reading failed; nothing stays mapped then
    static MemorySegment map(Libc libc, List<Run> runs, long length, int protection, int flags, MapBudget budget,
            Arena arena) throws IOException {
        if (length < MIN_MAPPED) {
            return copied(runs, length, arena);
        }
        StitchedMapping wanted = new StitchedMapping(runs, length, libc.pageSize());
        StitchedMapping plan = budget.tryAcquire(wanted.mappings())
                ? wanted
                : new StitchedMapping(runs, length, NO_PAGES);
        int taken = plan.mappings();
        long address;
        try (Arena scratch = Arena.ofConfined()) {
            address = plan.filled(libc, NativeFunction.state(scratch), protection, flags);
        } catch (IOException | RuntimeException | Error e) {
            budget.release(taken);
            throw e;
        }
        return Mapping.segment(libc, address, plan.size, arena, () -> budget.release(taken))
                .asSlice(plan.lead, length);
    }

    private long filled(Libc libc, MemorySegment state, int protection, int flags) throws IOException {
        try {
            return filled(Reservation.of(libc, size, state), protection, flags, true);
        } catch (ErrnoException e) {
            e.unless(ErrnoException.EEXIST);
            return filled(Reservation.of(libc, size, state), protection, flags, false);
        }
    }

    private long filled(Reservation range, int protection, int flags, boolean hasGaps) throws IOException {
        try {
            if (hasGaps) {
                range.mapIntoGaps(mapped, protection, flags);
            } else {
                range.mapOver(mapped, protection, flags);
            }
            copy(range.bytes());
            checkSizes();
            return range.address;
        } catch (IOException | RuntimeException | Error e) {
            range.unmap();
            throw e;
        }
    }

    private void copy(MemorySegment range) throws IOException {
        for (Part part : copied) {
            long read = part.file.read(part.offset, range.asSlice(part.at, part.length));
            if (read < part.length) {
                throw new EOFException("the file ends at byte " + (part.offset + read));
            }
        }
    }

    /// Fails if mapped bytes were truncated meanwhile, as reading them would fail later.
    private void checkSizes() throws IOException {
        Map<HostFile, Long> ends = new HashMap<>();
        for (Part part : mapped) {
            ends.merge(part.file, part.offset + part.length, Math::max);
        }
        for (Map.Entry<HostFile, Long> end : ends.entrySet()) {
            end.getKey().checkInside(end.getValue());
        }
    }

    /// The addresses of a range: zeros, over which files are mapped.
    static final class Reservation {
        /// The number of parts for which a gap is opened at once.
        private static final int GAP_PARTS = 128;

        private final Libc libc;
        private final MemorySegment state;
        private final long address;
        private final long size;
        /// The start and the end of the open gap; equal if there is none.
        private long gapStart;
        private long gapEnd;

        private Reservation(Libc libc, MemorySegment state, long address, long size) {
            this.libc = libc;
            this.state = state;
            this.address = address;
            this.size = size;
        }

        /// Reserves addresses.
        ///
        /// @param libc the library
        /// @param size the number of bytes
        /// @param state a place for `errno`, valid as long as this object is used
        /// @return the reservation, to be unmapped by the caller
        /// @throws ErrnoException if there are no such addresses
        static Reservation of(Libc libc, long size, MemorySegment state) throws ErrnoException {
            int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
            return new Reservation(libc, state, libc.mmap(state, 0, size, Mapping.READ_WRITE, flags, -1, 0), size);
        }

        @SuppressWarnings("restricted")
        MemorySegment bytes() {
            return MemorySegment.ofAddress(address).reinterpret(size);
        }

        /// Maps files over the zeros.
        ///
        /// @param parts the mappings and their addresses
        /// @param protection the protection of the pages
        /// @param flags the flags of the mapping
        /// @throws ErrnoException if that failed
        void mapOver(List<Part> parts, int protection, int flags) throws ErrnoException {
            for (Part part : parts) {
                map(part, protection, flags | MAP_FIXED);
            }
        }

        /// The same, faster.
        ///
        /// @param parts the mappings and their addresses, in order
        /// @param protection the protection of the pages
        /// @param flags the flags of the mapping
        /// @throws ErrnoException if that failed; `EEXIST` if another thread mapped there in between
        void mapIntoGaps(List<Part> parts, int protection, int flags) throws ErrnoException {
            for (int from = 0, to; from < parts.size(); from = to) {
                to = from + 1;
                while (to < parts.size() && to - from < GAP_PARTS && parts.get(to).at == parts.get(to - 1).end()) {
                    to++;
                }
                if (to - from == 1) {
                    map(parts.get(from), protection, flags | MAP_FIXED);
                } else {
                    mapIntoGap(parts.subList(from, to), protection, flags);
                }
            }
        }

        private void mapIntoGap(List<Part> parts, int protection, int flags) throws ErrnoException {
            long start = parts.getFirst().at;
            long end = parts.getLast().end();
            libc.munmap(address + start, end - start);
            gapStart = start;
            gapEnd = end;
            for (Part part : parts) {
                map(part, protection, flags | MAP_FIXED_NOREPLACE);
                gapStart = part.end();
            }
        }

        /// A kernel without support for `MAP_FIXED_NOREPLACE` (before 4.17) maps elsewhere what does not fit.
        private void map(Part part, int protection, int flags) throws ErrnoException {
            long wanted = address + part.at;
            int fd = ((PosixFile) part.file).descriptor();
            long got = libc.mmap(state, wanted, part.length, protection, flags, fd, part.offset);
            if (got != wanted) {
                libc.munmap(got, part.length);
                throw new ErrnoException("mmap", ErrnoException.EEXIST);
            }
        }

        /// Unmaps all addresses that still belong to the reservation.
        void unmap() {
            Mapping.unmap(libc, address, gapStart);
            Mapping.unmap(libc, address + gapEnd, size - gapEnd);
        }
    }
}
