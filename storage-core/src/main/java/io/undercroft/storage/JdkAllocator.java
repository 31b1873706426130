package io.undercroft.storage;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// The allocators that need nothing but the JDK.
enum JdkAllocator implements Allocator {
    OFF_HEAP {
        @Override
        public Allocation allocate(long nbytes) {
            try {
                return Allocation.collected(Arena.ofAuto().allocate(nbytes, Storage.ALIGNMENT));
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

    private static OutOfMemoryError none(long nbytes, String where, @Nullable Throwable cause) {
        OutOfMemoryError error = new OutOfMemoryError("there are no " + nbytes + " bytes available " + where);
        error.initCause(cause);
        return error;
    }
}
