package io.undercroft.serializer.spi;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// Something that bytes are written to: a file, an object in a store, a channel, shared memory.
@FunctionalInterface
public interface Sink {
    /// Writes bytes. They are copied or sent before the method returns.
    ///
    /// @param position the offset of the first byte in the file, as the [order][#order] allows
    /// @param bytes a segment of host memory, of any size
    /// @throws IOException if the disk is full, or the operation fails for another reason
    void write(long position, MemorySegment bytes) throws IOException;

    /// {@return the order in which bytes may be written} Unless overridden, [Order#ASCENDING].
    default Order order() {
        return Order.ASCENDING;
    }

    /// An order in which bytes may be written.
    enum Order {
        /// By one thread at a time, each write from the end of the one before; the first one from byte 0.
        ASCENDING,
        /// In any order, by one thread at a time. Skipped bytes read as zeros.
        POSITIONED,
        /// In any order, by several threads at once, as long as no byte is written twice. Skipped bytes read as zeros.
        CONCURRENT
    }
}
