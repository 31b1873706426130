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

/// Allocators of large memory of this process that no file backs.
///
/// Filling new memory takes most of its time in page faults. These allocators use huge pages, which cause few: filling
/// takes a quarter to a third of the time. [#populatedAllocator] takes the faults when it allocates, after which
/// filling takes less than half of the time; both together take a little longer.
public final class AnonymousMemory {
    /// From this size on, in bytes, memory is mapped. Giving a mapping back stops all threads for some 58 µs, which
    /// is little compared with zeroing a megabyte, and too much for less.
    private static final long MIN_MAPPED = 1 << 20;

    private AnonymousMemory() {}

    /// Returns the allocator of mapped memory. It is zeroed, starts on a page, uses huge pages where the system has
    /// them, is not bounded by `-XX:MaxDirectMemorySize`, and returns to the system when the allocation is freed.
    /// Access to its segment then throws [IllegalStateException]. The garbage collector frees an allocation that is no
    /// longer reachable. The system provides a page when it is first accessed.
    ///
    /// Allocations below 1 MiB use [Allocator#offHeap], as do all without native access.
    ///
    /// @return the allocator, safe for any thread
    public static Allocator allocator() {
        return mapping(false);
    }

    /// Returns an allocator as [#allocator] that provides all pages when it allocates. The first access is then as fast
    /// as later ones, for callers that must fill the memory in bounded time, and a lack of memory is reported by the
    /// allocation. On Linux before 5.14, zeros are written over the memory instead.
    ///
    /// @return the allocator, safe for any thread
    public static Allocator populatedAllocator() {
        return mapping(true);
    }

    /// Returns the allocator of memory that background saves can freeze: the save sees the bytes of that moment without
    /// a copy, and the storage can still be written to. So `saveAsync` of the serializer returns within milliseconds,
    /// whatever the size.
    ///
    /// The bytes are in a memory file without a name, of which each storage maps a part. Freezing changes the mapping
    /// to a private one at the same addresses: the file keeps the current bytes, and a page is copied when it is first
    /// written to. When the storage is frozen again, the written pages are copied to the file.
    ///
    /// The memory is zeroed and starts on a page. It is freed with the allocation, or when the save that reads a frozen
    /// image has ended. All pages are provided by the allocation, which reports a lack of memory. Pages that were
    /// written to since they were first frozen exist twice, so that at most twice the size is used. After a freeze that
    /// copied less than an eighth of a storage, they exist once again.
    ///
    /// All allocations share one descriptor. Allocations below 1 MiB use [Allocator#offHeap], which saves copy. On
    /// systems other than Linux, this is [#populatedAllocator]. Freezing takes microseconds since Linux 5.13, and some
    /// 100 ms for 1 GiB before.
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

    /// {@return the number of bytes that can be allocated before the system kills processes for lack of memory, on this
    /// host and in the container of this process; empty if unknown} Other processes may allocate them first.
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
        } catch (Throwable e) {
            lifetime.release();
            throw e;
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
