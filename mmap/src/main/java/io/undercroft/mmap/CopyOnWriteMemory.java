package io.undercroft.mmap;

import io.undercroft.mmap.internal.ErrnoException;
import io.undercroft.mmap.internal.FreeMemory;
import io.undercroft.mmap.internal.FreezableRange;
import io.undercroft.mmap.internal.Libc;
import io.undercroft.mmap.internal.MemoryFile;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import java.util.OptionalLong;

/// Memory of this process that can be frozen: a reader sees the bytes of that moment without a copy, and the storage
/// can still be written. It is for states that are saved while they change: a save in the background then keeps its
/// caller for milliseconds, whatever the size ([io.undercroft.storage.spi.Freezable]).
///
/// The bytes lie in a file in memory that has no name, and a storage maps a part of it. Until it is first frozen that
/// is memory like any other. Freezing turns the mapping into a private one, at the same addresses: the file keeps the
/// bytes of now, and a page is copied when it is first written to. What was written is brought back to the file when
/// the storage is frozen the next time, which takes as long as to copy that.
///
/// **Memory.** Pages that were written since they were first frozen are there twice, so at most twice the size is
/// taken. After a freeze for which less than an eighth of a storage had to be brought back, they are there once again.
///
/// **Limits.** All of it shares one descriptor. It is there on Linux; where there is no such file the memory is that of
/// [AnonymousMemory], which saves copy. Freezing takes microseconds since Linux 5.13, and before some 100 ms for 1 GiB.
public final class CopyOnWriteMemory {
    private CopyOnWriteMemory() {}

    /// Returns the allocator of memory that can be frozen. It is zeroed, starts on a page, and returns to the system
    /// when the allocation is freed; where a frozen image is still read, when that is closed. All of it is taken at
    /// once, so a lack of memory is reported here.
    ///
    /// Allocations below 1 MiB use [Allocator#offHeap]: a save copies them.
    ///
    /// @return the allocator, safe for any thread
    public static Allocator allocator() {
        return MemoryFile.find().<Allocator>map(file -> nbytes -> allocate(file, nbytes))
                .orElseGet(AnonymousMemory::populatedAllocator);
    }

    private static Allocation allocate(MemoryFile file, long nbytes) {
        if (nbytes < AnonymousMemory.MIN_MAPPED) {
            return Allocator.offHeap().allocate(nbytes);
        }
        OptionalLong free = FreeMemory.bytes();
        if (free.isPresent() && nbytes > free.getAsLong()) {
            // The system would try, and end processes to have enough.
            throw AnonymousMemory.none(nbytes, free.getAsLong() + " are free", null);
        }
        try {
            FreezableRange range = FreezableRange.allocate(Libc.find().orElseThrow(), file, nbytes);
            return new Allocation(range.segment(), Allocation.Sharing.PRIVATE, null, range, range::release);
        } catch (ErrnoException e) {
            throw AnonymousMemory.none(nbytes, e.getMessage(), e);
        }
    }
}
