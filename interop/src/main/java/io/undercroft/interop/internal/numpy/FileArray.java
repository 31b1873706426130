package io.undercroft.interop.internal.numpy;

import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.FileStorages.Decoder;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// The elements of an array that is stored uncompressed in a file.
///
/// @param file the file
/// @param offset where they start in it
/// @param nbytes how many bytes they have, within the file
/// @param storages what makes the storages
public record FileArray(MappedFile file, long offset, long nbytes, FileStorages storages) implements ArrayBytes {
    private static final int PART = 1 << 18;

    @Override
    public Storage stored(int alignment) {
        return storages.stored(offset, nbytes, alignment);
    }

    @Override
    public Storage decoded(Object form, long size, Decoder decoder) {
        return storages.decoded(size, decoder);
    }

    @Override
    public void forEachPart(Part part) throws IOException {
        forEachPart(file, offset, nbytes, part);
    }

    /// Reads bytes of a file, part after part in their order.
    ///
    /// @param file the file
    /// @param offset where the bytes start in it
    /// @param nbytes how many they are, within the file
    /// @param part called with each part
    /// @throws IOException if reading fails
    public static void forEachPart(MappedFile file, long offset, long nbytes, Part part) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(Math.min(PART, nbytes));
            for (long done = 0; done < nbytes;) {
                MemorySegment piece = buffer.asSlice(0, Math.min(PART, nbytes - done));
                file.read(offset + done, piece);
                part.accept(done, piece);
                done += piece.byteSize();
            }
        }
    }
}
