package io.undercroft.mmap;

import io.undercroft.mmap.internal.ErrnoException;
import io.undercroft.mmap.internal.Libc;
import io.undercroft.mmap.internal.Lifetime;
import io.undercroft.mmap.internal.Mapping;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import java.lang.foreign.MemorySegment;

/// Memory of this process that no file stands behind, in runs too large for the JDK's own allocator.
public final class AnonymousMemory {
    /// From this size on, in bytes, memory is mapped. Giving a mapping back stops all threads for some 58 µs, which
    /// is little beside zeroing a megabyte, and too much for less.
    static final long MIN_MAPPED = 1 << 20;

    private AnonymousMemory() {}

    /// The allocator of mapped memory. It is zeroed, starts on a page, uses huge pages where the system has them, is
    /// not bounded by `-XX:MaxDirectMemorySize`, and goes back to the system the moment the allocation is freed.
    /// Whoever still has the segment then gets [IllegalStateException]. An allocation that nobody frees is given back
    /// by the garbage collector.
    ///
    /// What is smaller than 1 MiB comes from [Allocator#offHeap], as does everything where the system cannot be called.
    ///
    /// @return the allocator, safe for any thread
    public static Allocator allocator() {
        return Libc.find().<Allocator>map(libc -> nbytes -> allocate(libc, nbytes)).orElseGet(Allocator::offHeap);
    }

    private static Allocation allocate(Libc libc, long nbytes) {
        if (nbytes < MIN_MAPPED) {
            return Allocator.offHeap().allocate(nbytes);
        }
        Lifetime lifetime = new Lifetime("anonymous memory", () -> {});
        try {
            MemorySegment segment = Mapping.anonymous(libc, nbytes, lifetime.arena());
            // Most of the time of filling fresh memory goes into its page faults. Huge pages have few; faulting
            // everything in at once would take memory that may never be used.
            Mapping.advise(libc, segment, ReadAdvice.HUGE_PAGES);
            return new Allocation(segment, Allocation.Sharing.PRIVATE, null, lifetime::release);
        } catch (ErrnoException e) {
            OutOfMemoryError error = new OutOfMemoryError("the system has no " + nbytes + " bytes of memory to map");
            error.initCause(e);
            throw error;
        }
    }
}
