package io.undercroft.format.internal;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

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

    /// The bytes from `offset` on in place, where the source has them in memory or maps them. A large index is not read
    /// then, but looked at, and of its bytes only those that are needed.
    ///
    /// @param offset the first byte
    /// @param length how many bytes
    /// @return exactly these bytes, for as long as the source lives; nothing if they can only be read. The source sees
    ///     to it that nobody changes them.
    /// @throws EOFException if the source ends before
    /// @throws IOException if mapping fails
    default Optional<MemorySegment> segment(long offset, long length) throws IOException {
        return Optional.empty();
    }

    /// A source over bytes in memory.
    ///
    /// @param bytes the whole file
    /// @return a source that reads `bytes` and gives views of them, for as long as they live
    static ByteSource of(MemorySegment bytes) {
        return new ByteSource() {
            @Override
            public long size() {
                return bytes.byteSize();
            }

            @Override
            public void read(long offset, MemorySegment into) throws EOFException {
                into.copyFrom(view(offset, into.byteSize()));
            }

            @Override
            public Optional<MemorySegment> segment(long offset, long length) throws EOFException {
                return Optional.of(view(offset, length).asReadOnly());
            }

            private MemorySegment view(long offset, long length) throws EOFException {
                if (offset < 0 || length > bytes.byteSize() - offset) {
                    throw new EOFException("the " + bytes.byteSize() + " bytes end before " + length + " bytes from "
                            + offset + " on");
                }
                return bytes.asSlice(offset, length);
            }
        };
    }
}
