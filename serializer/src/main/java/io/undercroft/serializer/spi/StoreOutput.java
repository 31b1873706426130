package io.undercroft.serializer.spi;

import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// An object in a store that is written from its first byte to its last. It becomes visible as a whole by [#commit].
/// For use by one thread.
public interface StoreOutput extends Sink, Closeable {
    /// {@inheritDoc}
    ///
    /// @throws io.undercroft.mmap.RemoteFileException if the store refuses the request or does not respond
    @Override
    void write(long position, MemorySegment bytes) throws IOException;

    /// Completes the object, and makes it durable and visible atomically. Called once.
    ///
    /// @throws io.undercroft.mmap.RemoteFileException if another writer was faster (`CONFLICT`), the store refuses the
    ///     request, or it does not respond; then the complete object may be visible
    /// @throws IOException if the operation fails for another reason
    void commit() throws IOException;

    /// Deletes the written bytes unless the object was committed. The second and later calls do nothing.
    ///
    /// @throws IOException if invisible bytes may remain in the store
    @Override
    void close() throws IOException;
}
