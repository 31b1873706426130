package io.undercroft.serializer.internal.writing;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Looks at bytes in place, of any segment, mapped ones too: where a file was cut meanwhile, that throws
/// [InternalError].
final class RawBytes {
    /// What is looked at before the answer so far counts. A loop without a way out is one that the compiler makes wide.
    private static final int PIECE = 1 << 14;

    private RawBytes() {}

    /// {@return whether all bytes of a segment are zero}
    ///
    /// @param bytes a segment
    static boolean areZero(MemorySegment bytes) {
        for (long from = 0; from < bytes.byteSize(); from += PIECE) {
            long length = Math.min(PIECE, bytes.byteSize() - from);
            if (union(bytes.asSlice(from, length), (int) length) != 0) {
                return false;
            }
        }
        return true;
    }

    private static long union(MemorySegment bytes, int length) {
        long bits = 0;
        int words = length & -Long.BYTES;
        for (int at = 0; at < words; at += Long.BYTES) {
            bits |= bytes.get(ValueLayout.JAVA_LONG_UNALIGNED, at);
        }
        for (int at = words; at < length; at++) {
            bits |= bytes.get(ValueLayout.JAVA_BYTE, at);
        }
        return bits;
    }
}
