package io.undercroft.mmap;

import io.undercroft.mmap.internal.ErrnoException;
import io.undercroft.mmap.internal.FreeMemory;
import io.undercroft.mmap.internal.FreezableRange;
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
/// Filling fresh memory spends most of its time in page faults. The allocators here ask for huge pages, which have few:
/// filling takes a quarter to a third of the time. The first two differ in when the faults are taken. To allocate and
/// fill takes a little longer when memory is populated, since it is touched twice; but what is left for the fill is
/// less than half.
public final class AnonymousMemory {
    /// From this size on, in bytes, memory is mapped. Giving a mapping back stops all threads for some 58 µs, which
    /// is little compared with zeroing a megabyte, and too much for less.
    private static final long MIN_MAPPED = 1 << 20;

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
        return mapping(false);
    }

    /// The same, but the allocating thread populates all of the memory at once. The first access is then as fast as
    /// later ones, for callers that must fill it in bounded time, and a lack of memory is reported here. Where the
    /// system cannot populate memory (Linux before 5.14), zeros are written over it.
    ///
    /// @return the allocator, safe for any thread
    public static Allocator populatedAllocator() {
        return mapping(true);
    }

    /// Returns the allocator of memory that can be frozen: a reader sees the bytes of that moment without a copy, and
    /// the storage can still be written. It is for states that are saved while they change: a save in the background
    /// then keeps its caller for milliseconds, whatever the size ([io.undercroft.storage.internal.support.Freezable]).
    ///
    /// The bytes lie in a file in memory that has no name, and a storage maps a part of it. Until it is first frozen
    /// that is memory like any other. Freezing turns the mapping into a private one, at the same addresses: the file
    /// keeps the bytes of now, and a page is copied when it is first written to. What was written is brought back to
    /// the file when the storage is frozen the next time, which takes as long as to copy that.
    ///
    /// The memory is zeroed, starts on a page, and returns to the system when the allocation is freed; where a frozen
    /// image is still read, when that is closed. All of it is taken at once, so a lack of memory is reported here.
    /// Pages that were written since they were first frozen are there twice, so at most twice the size is taken. After
    /// a freeze for which less than an eighth of a storage had to be brought back, they are there once again.
    ///
    /// All of it shares one descriptor. Allocations below 1 MiB use [Allocator#offHeap], which saves copy. Where there
    /// is no such file, as on other systems than Linux, this is [#populatedAllocator]. Freezing takes microseconds
    /// since Linux 5.13, and before some 100 ms for 1 GiB.
    ///
    /// @return the allocator, safe for any thread
    public static Allocator freezableAllocator() {
        return FreezableRange.isSupported() ? AnonymousMemory::freezable : populatedAllocator();
    }

    private static Allocation freezable(long nbytes) {
        if (nbytes < MIN_MAPPED) {
            return Allocator.offHeap().allocate(nbytes);
        }
        OptionalLong free = FreeMemory.bytes();
        if (free.isPresent() && nbytes > free.getAsLong()) {
            // The system would try, and end processes to have enough.
            throw none(nbytes, free.getAsLong() + " are free", null);
        }
        try {
            FreezableRange range = FreezableRange.allocate(nbytes);
            return new Allocation(range.segment(), Allocation.Sharing.PRIVATE, null, range, range::release);
        } catch (ErrnoException e) {
            throw none(nbytes, e.getMessage(), e);
        }
    }

    /// {@return how many bytes can be allocated before the system kills processes for lack of memory, on this host
    /// and in the container that this process is in; empty if unknown} Other processes may take them first.
    public static OptionalLong available() {
        return FreeMemory.bytes();
    }

    private static Allocator mapping(boolean isPopulated) {
        return nbytes -> nbytes < MIN_MAPPED || Libc.find().isEmpty()
                ? Allocator.offHeap().allocate(nbytes)
                : allocate(Libc.find().get(), nbytes, isPopulated);
    }

    private static Allocation allocate(Libc libc, long nbytes, boolean isPopulated) {
        Lifetime lifetime = new Lifetime("anonymous memory", () -> {});
        try {
            MemorySegment segment = Mapping.anonymous(libc, nbytes, lifetime.arena());
            Mapping.advise(libc, segment, ReadAdvice.HUGE_PAGES);
            if (isPopulated) {
                Mapping.populate(libc, segment);
            }
            return new Allocation(segment, Allocation.Sharing.PRIVATE, null, lifetime::release);
        } catch (ErrnoException e) {
            lifetime.release();
            throw none(nbytes, e.getMessage(), e);
        }
    }

    /// Returns the message if there is no memory.
    private static OutOfMemoryError none(long nbytes, @Nullable String why, @Nullable Throwable cause) {
        OutOfMemoryError error = new OutOfMemoryError("there are no " + nbytes + " bytes of memory available (" + why
                + "); free others, or raise the limits (ulimit -v, sysctl vm.overcommit_memory, vm.max_map_count)");
        error.initCause(cause);
        return error;
    }
}
