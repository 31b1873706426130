package io.undercroft.serializer.internal.loading;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Storage;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/// Memory for many storages, cut from blocks of whole huge pages. A mapping for each storage would be slow to create
/// and to unmap, would be rounded up to pages, and would cross the borders of huge pages.
///
/// As far as possible, threads allocate from different blocks. If two threads touched a huge page for the first time at
/// once, the kernel would zero two pages and drop one.
///
/// A block is unmapped when the last piece of it is freed. Safe for any thread.
public final class SlabAllocator implements Allocator {
    private static final long SLAB = 32L << 20;
    private static final long HUGE_PAGE = 2L << 20;
    /// The number of stripes. It exceeds the number of threads that load, so that few of them share a stripe.
    private static final int STRIPES = Integer.highestOneBit(Runtime.getRuntime().availableProcessors()) << 3;

    private final Allocator memory = AnonymousMemory.allocator();
    private final ReentrantLock lock = new ReentrantLock();
    private final long slabSize;
    /// The block that a thread allocates from, by its identifier modulo the length.
    private final @Nullable Slab[] current = new Slab[STRIPES];

    /// An allocator for about this number of bytes.
    ///
    /// @param expected the approximate number of bytes to be allocated; blocks are no larger than that
    public SlabAllocator(long expected) {
        this.slabSize = Math.min(SLAB, Math.max(expected, Storage.ALIGNMENT));
    }

    /// One block. Its fields are only touched under the lock.
    private static final class Slab {
        private final Allocation whole;
        private long used;
        private int pieces;

        Slab(Allocation whole) {
            this.whole = whole;
        }

        boolean has(long nbytes) {
            return nbytes <= whole.segment().byteSize() - used;
        }
    }

    @Override
    public Allocation allocate(long nbytes) {
        lock.lock();
        try {
            if (nbytes > slabSize / 2) {
                return cut(new Slab(memory.allocate(roundedUp(nbytes))), nbytes);
            }
            int stripe = (int) Thread.currentThread().threadId() & (STRIPES - 1);
            Slab slab = current[stripe];
            if (slab == null || !slab.has(nbytes)) {
                slab = new Slab(memory.allocate(slabSize));
                current[stripe] = slab;
            }
            return cut(slab, nbytes);
        } finally {
            lock.unlock();
        }
    }

    /// Large ones are whole huge pages, which the system then aligns to them; the tail is never touched.
    private static long roundedUp(long nbytes) {
        boolean rounds = nbytes >= HUGE_PAGE && nbytes <= Long.MAX_VALUE - HUGE_PAGE;
        return rounds ? roundedUp(nbytes, HUGE_PAGE) : nbytes;
    }

    private static long roundedUp(long nbytes, long unit) {
        return (nbytes + unit - 1) & -unit;
    }

    private Allocation cut(Slab slab, long nbytes) {
        long start = slab.used;
        slab.used = Math.min(roundedUp(start + nbytes, Storage.ALIGNMENT), slab.whole.segment().byteSize());
        slab.pieces++;
        return new Allocation(slab.whole.segment().asSlice(start, nbytes), Allocation.Sharing.PRIVATE, null,
                () -> free(slab));
    }

    private void free(Slab slab) {
        lock.lock();
        try {
            slab.pieces--;
            if (slab.pieces == 0) {
                for (int stripe = 0; stripe < STRIPES; stripe++) {
                    if (current[stripe] == slab) {
                        current[stripe] = null;
                    }
                }
                slab.whole.free();
            }
        } finally {
            lock.unlock();
        }
    }
}
