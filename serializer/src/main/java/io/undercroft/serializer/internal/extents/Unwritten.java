package io.undercroft.serializer.internal.extents;

import io.undercroft.storage.spi.Faults;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/// Bytes that have a place in the file and have not been written to it yet. Safe for use by several threads.
final class Unwritten {
    private final NavigableMap<Long, MemorySegment> runs = new TreeMap<>();

    /// Adds a run of bytes, or makes one longer.
    ///
    /// @param offset its place in the file
    /// @param bytes the bytes; not changed until the run is removed
    synchronized void put(long offset, MemorySegment bytes) {
        runs.put(offset, bytes);
    }

    /// Removes a run.
    ///
    /// @param offset its place in the file
    synchronized void remove(long offset) {
        runs.remove(offset);
    }

    /// {@return whether bytes are the same as those at a place, or nothing if these are not here}
    ///
    /// @param bytes the bytes
    /// @param offset the place in the file
    synchronized Optional<Boolean> isSame(MemorySegment bytes, long offset) {
        Map.Entry<Long, MemorySegment> run = runs.floorEntry(offset);
        if (run == null || run.getKey() + run.getValue().byteSize() < offset + bytes.byteSize()) {
            return Optional.empty();
        }
        return Optional.of(Faults.haveSameBytes(bytes,
                run.getValue().asSlice(offset - run.getKey(), bytes.byteSize())));
    }
}
