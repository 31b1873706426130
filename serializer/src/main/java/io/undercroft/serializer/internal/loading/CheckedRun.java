package io.undercroft.serializer.internal.loading;

import java.lang.foreign.MemorySegment;

/// Bytes of a storage of which the file has a checksum.
///
/// @param start the first byte, counted from the start of the storage; negative if the checksum covers bytes before it,
///     which have arrived already
/// @param checksum their checksum
public record CheckedRun(long start, RunChecksum checksum) {
    long end() {
        return start + checksum.length();
    }

    /// Takes those of some bytes that are in this run.
    ///
    /// @param offset the first of the bytes
    /// @param bytes the bytes
    void add(long offset, MemorySegment bytes) {
        long from = Math.max(offset, start);
        long to = Math.min(offset + bytes.byteSize(), end());
        if (from < to) {
            checksum.add(from - start, bytes.asSlice(from - offset, to - from));
        }
    }
}
