package io.undercroft.storage.internal.support;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.Supplier;

/// Methods for errors of access to mapped bytes. If their file was truncated or its disk failed, the JVM throws an
/// [InternalError], possibly later than the access.
public final class Faults {
    private static final Object LOCK = new Object();
    /// The number of bytes compared between checks. The compiler vectorizes only loops without an early exit.
    private static final int PIECE = 1 << 14;

    private Faults() {}

    /// Throws a pending error. After a fault, compiled code continues until the next safepoint poll of the thread,
    /// which this call of a native method makes. It takes about 30 ns.
    public static void throwPending() {
        Thread.holdsLock(LOCK);
    }

    /// {@return whether an error reports such an access}
    ///
    /// @param error the error
    public static boolean isFault(InternalError error) {
        return String.valueOf(error.getMessage()).contains("unsafe memory access");
    }

    /// Finds the reason of an access that failed. If a storage is freed while its bytes are accessed, the JVM stops the
    /// access with an exception that does not name the storage, and sets the interrupted status of the thread.
    ///
    /// @param failure the exception of the access
    /// @param wasInterrupted whether the thread was interrupted before the access; if the storage was freed, this
    ///     status is restored
    /// @param again accesses the storage, and throws an exception that names it if it was freed
    /// @return that exception, or `failure` if the storage was not freed
    public static IllegalStateException ended(IllegalStateException failure, boolean wasInterrupted,
            Supplier<MemorySegment> again) {
        try {
            var _ = again.get();
            return failure;
        } catch (IllegalStateException freed) {
            if (!wasInterrupted) {
                Thread.interrupted();
            }
            return freed;
        }
    }

    /// Compares bytes that may be mapped. [MemorySegment#mismatch] cannot be used: after it is compiled, a fault in it
    /// crashes the JVM.
    ///
    /// @param one a segment
    /// @param other another segment of the same size
    /// @return whether both hold the same bytes
    /// @throws InternalError if bytes could not be read
    public static boolean haveSameBytes(MemorySegment one, MemorySegment other) {
        for (long from = 0; from < one.byteSize(); from += PIECE) {
            long length = Math.min(PIECE, one.byteSize() - from);
            if (difference(one.asSlice(from, length), other.asSlice(from, length), (int) length) != 0) {
                return false;
            }
        }
        return true;
    }

    private static long difference(MemorySegment one, MemorySegment other, int length) {
        long bits = 0;
        int words = length & -Long.BYTES;
        for (int at = 0; at < words; at += Long.BYTES) {
            bits |= one.get(ValueLayout.JAVA_LONG_UNALIGNED, at) ^ other.get(ValueLayout.JAVA_LONG_UNALIGNED, at);
        }
        for (int at = words; at < length; at++) {
            bits |= one.get(ValueLayout.JAVA_BYTE, at) ^ other.get(ValueLayout.JAVA_BYTE, at);
        }
        return bits;
    }
}
