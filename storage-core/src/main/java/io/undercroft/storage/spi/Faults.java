package io.undercroft.storage.spi;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.Supplier;

/// How the JVM reports that mapped bytes could not be read (their file was cut, or its disk failed): by an
/// [InternalError] without a specific type, and not always where it happened.
public final class Faults {
    private static final Object LOCK = new Object();
    /// The bytes compared between checks. A loop without a way out is one that the compiler makes wide.
    private static final int PIECE = 1 << 14;

    private Faults() {}

    /// Throws a pending error now. Compiled code runs on after a fault, until the next safepoint check of the thread,
    /// which this call makes, since it is not compiled. It takes some 30 ns.
    public static void throwPending() {
        Thread.holdsLock(LOCK);
    }

    /// {@return whether an error is such a report}
    ///
    /// @param error what was thrown
    public static boolean isFault(InternalError error) {
        return String.valueOf(error.getMessage()).contains("unsafe memory access");
    }

    /// Explains an access that failed. If a storage is freed while its bytes are accessed, the JVM ends the access with
    /// an exception that does not say why, and interrupts the thread.
    ///
    /// @param failure what was thrown
    /// @param wasInterrupted whether the thread was interrupted before, as it is again if the storage was freed
    /// @param again accesses the storage, and throws an exception that says what was closed if it was freed
    /// @return that exception, or the first one if the storage is not freed
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

    /// Compares bytes that may be mapped. [MemorySegment#mismatch] would be as fast, but once it is compiled a fault in
    /// it does not throw: it ends the JVM.
    ///
    /// @param one a segment
    /// @param other another one of the same size
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
