package io.undercroft.mmap;

import io.undercroft.mmap.internal.ErrnoException;
import io.undercroft.mmap.internal.FreeMemory;
import io.undercroft.mmap.internal.Libc;
import io.undercroft.mmap.internal.Lifetime;
import io.undercroft.mmap.internal.Mapping;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/// Memory of this process that no file backs, in runs too large for the JDK's own allocator.
///
/// Filling fresh memory spends most of its time in page faults. Both allocators here ask for huge pages, which
/// have few: filling takes a quarter to a third of the time. They differ in when the faults are taken. To allocate and
/// fill takes a little longer when memory is populated, since it is touched twice; but what is left for the fill is
/// less than half.
public final class AnonymousMemory {
    /// From this size on, in bytes, memory is mapped. Giving a mapping back stops all threads for some 58 µs, which
    /// is little compared with zeroing a megabyte, and too much for less.
    static final long MIN_MAPPED = 1 << 20;

    private AnonymousMemory() {}

    /// Returns the allocator of mapped memory. It is zeroed, starts on a page, uses huge pages where the system has
    /// them, is not bounded by `-XX:MaxDirectMemorySize`, and returns to the system when the allocation is freed.
    /// Access to its segment then throws [IllegalStateException]. The garbage collector frees an allocation that is no
    /// longer reachable. Memory is taken when it is first touched: what is never touched costs nothing.
    ///
    /// Allocations below 1 MiB use [Allocator#offHeap], as do all where the system cannot be called.
    ///
    /// @return the allocator, safe for any thread
    public static Allocator allocator() {
        return mapping((_, _) -> {});
    }

    /// The same, but the allocating thread populates all of the memory at once. The first access is then as fast as
    /// later ones, for callers that must fill it in bounded time, and a lack of memory is reported here. Where the
    /// system cannot populate memory (Linux before 5.14), zeros are written over it.
    ///
    /// @return the allocator, safe for any thread
    public static Allocator populatedAllocator() {
        return mapping(Mapping::populate);
    }

    /// {@return how many bytes can be allocated before the system kills processes for lack of memory, on this host
    /// and in the container that this process is in; empty if unknown} Other processes may take them first.
    public static OptionalLong available() {
        return FreeMemory.bytes();
    }

    /// What is done to fresh memory before it is handed out.
    @FunctionalInterface
    private interface Preparation {
        void prepare(Libc libc, MemorySegment segment) throws ErrnoException;
    }

    private static Allocator mapping(Preparation preparation) {
        return nbytes -> nbytes < MIN_MAPPED || Libc.find().isEmpty()
                ? Allocator.offHeap().allocate(nbytes)
                : allocate(Libc.find().get(), nbytes, preparation);
    }

    private static Allocation allocate(Libc libc, long nbytes, Preparation preparation) {
        Lifetime lifetime = new Lifetime("anonymous memory", () -> {});
        try {
            MemorySegment segment = Mapping.anonymous(libc, nbytes, lifetime.arena());
            Mapping.advise(libc, segment, ReadAdvice.HUGE_PAGES);
            preparation.prepare(libc, segment);
            return new Allocation(segment, Allocation.Sharing.PRIVATE, null, lifetime::release);
        } catch (ErrnoException e) {
            lifetime.release();
            throw none(nbytes, e.getMessage(), e);
        }
    }

    /// Returns the message if there is no memory.
    static OutOfMemoryError none(long nbytes, @Nullable String why, @Nullable Throwable cause) {
        OutOfMemoryError error = new OutOfMemoryError("there are no " + nbytes + " bytes of memory available (" + why
                + "); free others, or raise the limits (ulimit -v, sysctl vm.overcommit_memory, vm.max_map_count)");
        error.initCause(cause);
        return error;
    }
}
