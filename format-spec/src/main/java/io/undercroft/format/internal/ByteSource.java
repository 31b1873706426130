package io.undercroft.format.internal;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.OptionalLong;

/// The bytes of a file, from a channel, a segment or an object store.
///
/// Whether several threads may read at once depends on the implementation; this package never does that.
public interface ByteSource {
    /// {@return the size in bytes}
    ///
    /// @throws IOException if it cannot be determined
    long size() throws IOException;

    /// Fills a segment with the bytes from `offset` on.
    ///
    /// @param offset the first byte to read
    /// @param into the destination, on or off the heap; all of it is filled
    /// @throws EOFException if the source ends before
    /// @throws IOException if reading fails
    void read(long offset, MemorySegment into) throws IOException;

    /// {@return where the medium failed, if that is what an exception of [#read] says} Other bytes can be read then.
    ///
    /// @param failure what was thrown
    default OptionalLong failedAt(IOException failure) {
        return OptionalLong.empty();
    }

    /// Announces that bytes are about to be read. A source that requests them from somewhere else does so now, with one
    /// request and for hardly more than these. Others do nothing.
    ///
    /// @param offset the first byte
    /// @param length the number of bytes; what is past the end is ignored
    /// @throws IOException if they cannot be requested
    default void prepare(long offset, long length) throws IOException {}

    /// Returns the bytes from `offset` on in place, where the source has them in memory or maps them. Of a large index
    /// only the bytes that are needed are then loaded.
    ///
    /// @param offset the first byte
    /// @param length the number of bytes
    /// @return exactly these bytes, valid as long as the source; empty if they can only be read. The source must not
    ///     change them.
    /// @throws EOFException if the source ends before
    /// @throws IOException if mapping fails
    default Optional<MemorySegment> segment(long offset, long length) throws IOException {
        return Optional.empty();
    }

    /// Creates a source over bytes in memory.
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
