package io.undercroft.interop.internal.numpy;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.spi.FileStorages.Decoder;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// The bytes of the elements of one array in a file.
public interface ArrayBytes {
    /// A part of the bytes.
    @FunctionalInterface
    interface Part {
        /// Reads the part.
        ///
        /// @param position where it starts, from the first byte of the elements
        /// @param bytes the part, which is not there any more afterwards
        void accept(long position, MemorySegment bytes);
    }

    /// {@return a storage of all bytes of the file, unchanged}
    ///
    /// @param alignment what the offset in the file has to be a multiple of to map them
    /// @throws IOException if reading fails
    Storage stored(int alignment) throws IOException;

    /// Reads all bytes, part after part in their order, and compares their checksum if there is one.
    ///
    /// @param part called with each part
    /// @throws IOException if reading fails
    /// @throws FormatException if the bytes are damaged
    void forEachPart(Part part) throws IOException;

    /// {@return a storage whose bytes are made of those in the file when it is first touched}
    ///
    /// @param form equal for two calls whose storages would have equal bytes: they may return the same storage
    /// @param nbytes its size in bytes
    /// @param decoder how
    Storage decoded(Object form, long nbytes, Decoder decoder);
}
