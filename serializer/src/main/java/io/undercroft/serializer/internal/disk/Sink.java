package io.undercroft.serializer.internal.disk;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// Something that bytes are written to.
public interface Sink {
    /// Writes bytes.
    ///
    /// @param offset the offset in the file; skipped bytes read as zeros
    /// @param bytes the bytes to write
    /// @throws IOException if the disk is full or failing
    void write(long offset, MemorySegment bytes) throws IOException;

    /// {@return the order in which bytes may be written}
    Order order();

    /// An order in which bytes may be written.
    enum Order {
        /// From the first byte to the last, by one thread at a time.
        ASCENDING,
        /// In any order, by one thread at a time.
        POSITIONED,
        /// In any order, by several threads at once, as long as no byte is written twice.
        CONCURRENT
    }
}
