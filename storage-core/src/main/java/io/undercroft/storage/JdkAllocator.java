package io.undercroft.storage;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/// The allocators that need nothing but the JDK. It fills off-heap memory with zeros; for large memory, a provider that
/// need not do so is used if there is one.
enum JdkAllocator implements Allocator {
    OFF_HEAP {
        @Override
        public Allocation allocate(long nbytes) {
            try {
                return Allocation.collected(isLarge(nbytes)
                        ? MemoryProviders.collected(nbytes).orElseGet(() -> filled(nbytes))
                        : filled(nbytes));
            } catch (OutOfMemoryError | IllegalArgumentException e) {
                // Sizes close to 2^63 are an IllegalArgumentException, though nothing is wrong with the argument.
                throw none(nbytes, "off the heap; raise -XX:MaxDirectMemorySize, or use AnonymousMemory.allocator()",
                        e);
            }
        }
    },

    HEAP {
        @Override
        public Allocation allocate(long nbytes) {
            long words = Math.ceilDiv(nbytes, Long.BYTES);
            if (words > MAX_ARRAY) {
                throw none(nbytes, "in one array; use Allocator.offHeap()", null);
            }
            try {
                return Allocation.collected(MemorySegment.ofArray(new long[(int) words]).asSlice(0, nbytes));
            } catch (OutOfMemoryError e) {
                throw none(nbytes, "on the heap; raise -Xmx, or use Allocator.offHeap()", e);
            }
        }
    };

    /// JVMs keep some words of an array for themselves.
    private static final int MAX_ARRAY = Integer.MAX_VALUE - 8;

    /// The smallest size in bytes for which a provider is used: a huge page. Small pages cost as much when they are
    /// first accessed.
    private static final long LARGE = 2 << 20;

    /// The bytes of large memory that the JDK fills before a provider is used, whose start takes tens of milliseconds.
    private static final long FILLED_FIRST = 32 << 20;

    private static final AtomicLong FILLED = new AtomicLong();

    private static boolean isLarge(long nbytes) {
        return nbytes >= LARGE
                && (FILLED.get() > FILLED_FIRST || FILLED.addAndGet(Math.min(nbytes, FILLED_FIRST + 1)) > FILLED_FIRST);
    }

    private static MemorySegment filled(long nbytes) {
        return Arena.ofAuto().allocate(nbytes, Storage.ALIGNMENT);
    }

    private static OutOfMemoryError none(long nbytes, String where, @Nullable Throwable cause) {
        OutOfMemoryError error = new OutOfMemoryError("there are no " + nbytes + " bytes available " + where);
        error.initCause(cause);
        return error;
    }
}
