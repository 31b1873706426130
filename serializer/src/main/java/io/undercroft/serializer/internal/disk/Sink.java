package io.undercroft.serializer.internal.disk;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// Something that bytes are written to.
@FunctionalInterface
public interface Sink {
    /// Writes bytes.
    ///
    /// @param offset the offset in the file; skipped bytes read as zeros
    /// @param bytes the bytes to write
    /// @throws IOException if the disk is full or failing
    void write(long offset, MemorySegment bytes) throws IOException;

    /// {@return whether several threads may write at once, in any order, as long as no byte is written twice} Else one
    /// thread writes, from the first byte to the last.
    default boolean takesAnyOrder() {
        return false;
    }
}
