package io.undercroft.mmap.internal;

import static io.undercroft.mmap.internal.Constant.MAP_ANONYMOUS;
import static io.undercroft.mmap.internal.Constant.MAP_FIXED;
import static io.undercroft.mmap.internal.Constant.MAP_FIXED_NOREPLACE;
import static io.undercroft.mmap.internal.Constant.MAP_NORESERVE;
import static io.undercroft.mmap.internal.Constant.MAP_PRIVATE;

import io.undercroft.mmap.internal.StitchPlan.Mapped;
import java.lang.foreign.MemorySegment;
import java.util.List;

/// A reserved range of addresses for a stitched range: zeros that take no memory until they are written to, over which
/// files are then mapped.
///
/// Mapping a file over a part of them (`MAP_FIXED`) makes the kernel split the mapping of zeros, which takes 3.4 µs
/// each time. If many parts follow each other, it takes 2.3 µs to unmap the zeros first, and to map into the gap. But
/// another thread may map something into the gap meanwhile. So gaps are short and are filled by calls that never
/// replace a mapping (`MAP_FIXED_NOREPLACE`); if addresses of a gap are taken, the reservation is made again without
/// gaps.
///
/// For use by one thread.
final class Reservation {
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
        long address = libc.mmap(state, 0, size, Mapping.READ_WRITE, flags, -1, 0);
        return new Reservation(libc, state, address, size);
    }

    long address() {
        return address;
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
    void mapOver(List<Mapped> parts, int protection, int flags) throws ErrnoException {
        for (Mapped part : parts) {
            map(part, protection, flags | MAP_FIXED);
        }
    }

    /// The same, faster.
    ///
    /// @param parts the mappings and their addresses, in order
    /// @param protection the protection of the pages
    /// @param flags the flags of the mapping
    /// @throws ErrnoException if that failed; `EEXIST` if another thread mapped there in between
    void mapIntoGaps(List<Mapped> parts, int protection, int flags) throws ErrnoException {
        int from = 0;
        while (from < parts.size()) {
            int to = adjacent(parts, from);
            if (to - from == 1) {
                mapOver(parts.subList(from, to), protection, flags);
            } else {
                mapIntoGap(parts.subList(from, to), protection, flags);
            }
            from = to;
        }
    }

    /// Unmaps all addresses that still belong to the reservation.
    void unmap() {
        Mapping.unmap(libc, address, gapStart);
        Mapping.unmap(libc, address + gapEnd, size - gapEnd);
    }

    private static int adjacent(List<Mapped> parts, int from) {
        int to = from + 1;
        while (to < parts.size() && to - from < GAP_PARTS && parts.get(to).at() == parts.get(to - 1).end()) {
            to++;
        }
        return to;
    }

    private void mapIntoGap(List<Mapped> parts, int protection, int flags) throws ErrnoException {
        long start = parts.getFirst().at();
        long end = parts.getLast().end();
        libc.munmap(address + start, end - start);
        gapStart = start;
        gapEnd = end;
        for (Mapped part : parts) {
            map(part, protection, flags | MAP_FIXED_NOREPLACE);
            gapStart = part.end();
        }
    }

    /// A kernel without support for `MAP_FIXED_NOREPLACE` (before 4.17) maps elsewhere what does not fit.
    private void map(Mapped part, int protection, int flags) throws ErrnoException {
        long wanted = address + part.at();
        long got = libc.mmap(state, wanted, part.length(), protection, flags, part.fd(), part.offset());
        if (got != wanted) {
            libc.munmap(got, part.length());
            throw new ErrnoException("mmap", ErrnoException.EEXIST);
        }
    }
}
