package io.undercroft.format;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// Where the bytes of a file come from: a channel, a segment, an object store.
///
/// An implementation says itself whether several threads may read at once; this package never does.
public interface ByteSource {
    /// {@return the size in bytes}
    ///
    /// @throws IOException if it cannot be found out
    long size() throws IOException;

    /// Fills a segment with the bytes from `offset` on.
    ///
    /// @param offset the first byte to read
    /// @param into where to put them, on or off the heap; all of it is filled
    /// @throws EOFException if the source ends before
    /// @throws IOException if reading fails
    void read(long offset, MemorySegment into) throws IOException;

    /// A source over bytes in memory.
    ///
    /// @param bytes the whole file
    /// @return a source that reads `bytes`, for as long as they live
    static ByteSource of(MemorySegment bytes) {
        return new ByteSource() {
            @Override
            public long size() {
                return bytes.byteSize();
            }

            @Override
            public void read(long offset, MemorySegment into) throws EOFException {
                if (offset < 0 || into.byteSize() > bytes.byteSize() - offset) {
                    throw new EOFException("the " + bytes.byteSize() + " bytes end before " + into.byteSize()
                            + " bytes from " + offset + " on");
                }
                MemorySegment.copy(bytes, offset, into, 0, into.byteSize());
            }
        };
    }
}
