package io.undercroft.cuda.internal;

import io.undercroft.cuda.CudaException;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/// Host memory that stays in place, so that devices copy from it directly. It is pinned for all devices.
final class PinnedMemory implements Allocator {
    private static final long RETRY_NANOS = Duration.ofMillis(1).toNanos();

    private final Driver.Context context;

    PinnedMemory(Driver.Context context) {
        this.context = context;
    }

    @Override
    public boolean isPinned() {
        return true;
    }

    /// Allocates zeroed bytes. Unreachable pinned storages are collected before this fails for lack of memory.
    @Override
    public Allocation allocate(long nbytes) {
        if (nbytes == 0) {
            return Allocator.offHeap().allocate(0);
        }
        return collecting(() -> pinned(nbytes));
    }

    private static <T> T collecting(Supplier<T> pinning) {
        for (int attempt = 0;; attempt++) {
            try {
                return pinning.get();
            } catch (CudaException e) {
                boolean isFull = e.code() == CudaException.OUT_OF_MEMORY;
                if (!isFull || attempt == CudaMemory.RETRIES || !CudaMemory.collectGarbage(attempt)) {
                    throw e;
                }
            }
        }
    }

    private Allocation pinned(long nbytes) {
        if (nbytes > Integer.MAX_VALUE) {
            return registered(nbytes);
        }
        Arena arena = Arena.ofShared();
        MemorySegment bytes = allocate((int) nbytes, arena);
        bytes.fill((byte) 0);
        return allocation(bytes, Block.of(bytes, () -> free(arena, bytes))::release);
    }

    /// Allocates pinned bytes that are not zeroed, and have to be freed with [#free].
    ///
    /// @param arena the scope of the segment; of nothing else
    /// @throws CudaException if no more memory can be pinned
    @SuppressWarnings("restricted")
    MemorySegment allocate(int nbytes, Arena arena) {
        return MemorySegment.ofAddress(context.allocateHost(nbytes)).reinterpret(nbytes, arena, null);
    }

    /// Frees bytes as soon as no native call of the host uses them.
    void free(Arena arena, MemorySegment bytes) {
        if (!tryFree(arena, bytes)) {
            Thread.startVirtualThread(() -> {
                while (!tryFree(arena, bytes)) {
                    LockSupport.parkNanos(RETRY_NANOS);
                }
            });
        }
    }

    private boolean tryFree(Arena arena, MemorySegment bytes) {
        try {
            arena.close();
        } catch (IllegalStateException inUse) {
            return false;
        }
        CudaMemory.quietly(() -> context.freeHost(bytes.address()));
        return true;
    }

    /// More than jcuda allocates at once.
    private Allocation registered(long nbytes) {
        Allocation memory = AnonymousMemory.allocator().allocate(nbytes);
        try {
            return allocation(memory.segment(), register(memory.segment(), memory::free));
        } catch (CudaException e) {
            memory.free();
            throw e;
        }
    }

    /// Pins bytes where they are. Unreachable pinned storages are collected before this fails for lack of memory.
    ///
    /// If the driver fails to unpin them, they are never freed: it would copy other bytes at the same address from the
    /// pages that were there before.
    ///
    /// @param bytes the bytes
    /// @param unpinned called when they are not pinned any more and no copy uses them
    /// @return the action that unpins it
    /// @throws CudaException if the driver refuses
    Runnable pinInPlace(MemorySegment bytes, Runnable unpinned) {
        return collecting(() -> register(bytes, unpinned));
    }

    private Runnable register(MemorySegment bytes, Runnable unpinned) {
        context.register(bytes);
        return Block.inPlace(bytes, () -> CudaMemory.quietly(() -> {
            context.unregister(bytes);
            unpinned.run();
        }))::release;
    }

    private static Allocation allocation(MemorySegment bytes, Runnable free) {
        return new Allocation(bytes, Allocation.Sharing.PRIVATE, null, free);
    }
}
