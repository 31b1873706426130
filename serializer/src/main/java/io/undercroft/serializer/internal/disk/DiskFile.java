package io.undercroft.serializer.internal.disk;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.serializer.spi.Sink;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/// An open file. Several threads may read and write at once, but for the same bytes; all else belongs to one thread.
public interface DiskFile extends ByteSource, Sink, AutoCloseable {
    @Override
    default Order order() {
        return Order.CONCURRENT;
    }

    /// {@return whether bytes are not in memory, and [#readOnce] reads them past the page cache}
    ///
    /// @param offset the first byte
    /// @param length the number of bytes
    default boolean isReadPastCache(long offset, long length) {
        return false;
    }

    /// Fills a segment as [#read], with bytes that are not read again soon.
    ///
    /// @param offset the first byte to read
    /// @param into the destination; aligned to pages, or the page cache is used
    /// @throws java.io.EOFException if the file ends before
    /// @throws IOException if reading fails
    default void readOnce(long offset, MemorySegment into) throws IOException {
        read(offset, into);
    }

    /// Makes all that was written durable.
    ///
    /// @throws IOException if that fails; the contents of the disk are then undefined
    void force() throws IOException;

    /// Cuts the file.
    ///
    /// @param size its new size in bytes, at most the one it has
    /// @throws IOException if that fails
    void truncate(long size) throws IOException;

    /// {@return whether a path still refers to this file} Always true where the system does not report it.
    ///
    /// @param path the name it was opened by
    /// @throws IOException if it cannot be found out
    boolean isAt(Path path) throws IOException;

    @Override
    void close() throws IOException;
}
