package io.undercroft.mmap.internal;

import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.internal.ByteRun.FileRun;
import io.undercroft.mmap.internal.StitchPlan.Copied;
import io.undercroft.mmap.internal.StitchPlan.Mapped;
import io.undercroft.storage.Storage;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// Makes one range of addresses from runs of several files.
///
/// @param libc the library
/// @param runs the parts of the range, in order
/// @param length the sum of their lengths
/// @param protection the protection of the pages
/// @param flags the flags of the mapping
record Stitch(Libc libc, List<ByteRun> runs, long length, int protection, int flags) {
    /// Maps within the budget, and copies what exceeds it.
    ///
    /// @param budget the budget that the mappings count against until they are unmapped
    /// @param arena the lifetime of the range
    /// @return the range
    /// @throws IOException if mapping or reading failed; nothing stays mapped then
    MemorySegment map(MapBudget budget, Arena arena) throws IOException {
        if (length < StitchPlan.MIN_MAPPED) {
            return copied(runs, length, arena);
        }
        StitchPlan wanted = StitchPlan.of(runs, length, libc.pageSize());
        StitchPlan plan = budget.tryAcquire(wanted.mappings()) ? wanted : StitchPlan.copying(runs, length);
        int taken = plan.mappings();
        long address;
        try (Arena scratch = Arena.ofConfined()) {
            address = filled(plan, NativeFunction.state(scratch));
        } catch (IOException | RuntimeException | Error e) {
            budget.release(taken);
            throw e;
        }
        return Mapping.segment(libc, address, plan.size(), arena, () -> budget.release(taken))
                .asSlice(plan.lead(), length);
    }

    /// Copies runs into memory of the arena.
    ///
    /// @param runs the runs
    /// @param length the sum of their lengths
    /// @param arena the lifetime of the memory
    /// @return the memory
    /// @throws IOException if reading failed
    static MemorySegment copied(List<ByteRun> runs, long length, Arena arena) throws IOException {
        MemorySegment range = arena.allocate(length, Storage.ALIGNMENT);
        copy(StitchPlan.copying(runs, length), range);
        return range;
    }

    /// The way in which files are mapped over a reservation.
    @FunctionalInterface
    private interface Laying {
        void lay(Reservation range, List<Mapped> parts, int protection, int flags) throws ErrnoException;
    }

    private long filled(StitchPlan plan, MemorySegment state) throws IOException {
        try {
            return filled(plan, Reservation.of(libc, plan.size(), state), Reservation::mapIntoGaps);
        } catch (ErrnoException e) {
            if (e.errno() != ErrnoException.EEXIST) {
                throw e;
            }
            return filled(plan, Reservation.of(libc, plan.size(), state), Reservation::mapOver);
        }
    }

    private long filled(StitchPlan plan, Reservation range, Laying laying) throws IOException {
        try {
            laying.lay(range, plan.mapped(), protection, flags);
            copy(plan, range.bytes());
            checkSizes();
            return range.address();
        } catch (IOException | RuntimeException | Error e) {
            range.unmap();
            throw e;
        }
    }

    /// Fails if mapped bytes were truncated meanwhile, as reading them would fail later.
    private void checkSizes() throws IOException {
        Map<HostFile, Long> ends = new HashMap<>();
        for (ByteRun run : runs) {
            if (run instanceof FileRun file) {
                ends.merge(file.file(), file.end(), Math::max);
            }
        }
        for (Map.Entry<HostFile, Long> end : ends.entrySet()) {
            end.getKey().checkInside(end.getValue());
        }
    }

    private static void copy(StitchPlan plan, MemorySegment range) throws IOException {
        for (Copied part : plan.copied()) {
            long read = part.file().read(part.offset(), range.asSlice(part.at(), part.length()));
            if (read < part.length()) {
                throw new EOFException("the file ends at byte " + (part.offset() + read));
            }
        }
    }
}
