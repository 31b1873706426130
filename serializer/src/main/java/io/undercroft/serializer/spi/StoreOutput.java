package io.undercroft.serializer.spi;

import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// An object in a store that is being written from its first byte to its last. Others see it whole after [#commit], and
/// nothing of it before or if that is not called. For use by one thread.
public interface StoreOutput extends Closeable {
    /// Writes bytes. They are copied or sent before this returns.
    ///
    /// @param bytes any segment of the CPU, of any size
    /// @throws io.undercroft.mmap.RemoteFileException if the store refuses or does not respond
    /// @throws IOException if that fails for another reason
    void write(MemorySegment bytes) throws IOException;

    /// Ends the object and makes it visible, durably, in one step. Called once.
    ///
    /// @throws io.undercroft.mmap.RemoteFileException if another writer was faster (`CONFLICT`), or the store refuses
    ///     or does not respond. If it does not respond the object may be visible nevertheless, whole
    /// @throws IOException if that fails for another reason
    void commit() throws IOException;

    /// Deletes what was written, unless it was committed. Does nothing the second time.
    ///
    /// @throws IOException if bytes that nobody sees may be left in the store
    @Override
    void close() throws IOException;
}
