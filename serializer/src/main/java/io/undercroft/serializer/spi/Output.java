package io.undercroft.serializer.spi;

import io.undercroft.mmap.MappingException;
import io.undercroft.storage.BorrowedBytes;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;

/// A file that is written from its first byte to its last. Belongs to one thread.
public interface Output {
    /// {@return how many bytes were written so far}
    long position();

    /// Writes bytes. They are copied, so they may change as soon as this returns.
    ///
    /// @param bytes any segment of the CPU, of any size; also a mapping of a file, which may be cut meanwhile
    /// @throws IOException if the disk is full or failing
    void write(MemorySegment bytes) throws IOException;

    /// Writes bytes of a storage, wherever they are. Those of a device pass through its host buffers, and those that
    /// are decoded from a file are [borrowed][Storage#borrow].
    ///
    /// @param storage the storage
    /// @param offset the first byte
    /// @param length how many bytes
    /// @throws IOException if the disk is full or failing
    /// @throws IllegalStateException if the storage was freed
    default void write(Storage storage, long offset, long length) throws IOException {
        if (!storage.device().isCpu()) {
            writeParts(storage, offset, length);
            return;
        }
        try (BorrowedBytes bytes = storage.borrow()) {
            writeParts(bytes.storage(), offset, length);
        }
    }

    private void writeParts(Storage storage, long offset, long length) throws IOException {
        try {
            storage.forEachPart(offset, length, (_, part) -> {
                try {
                    write(part);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        } catch (MappingException e) {
            throw e;
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /// Writes zeros up to the next multiple of a number of bytes.
    ///
    /// @param alignment a power of two
    /// @throws IOException if the disk is full or failing
    default void align(long alignment) throws IOException {
        long gap = -position() & (alignment - 1);
        MemorySegment zeros = MemorySegment.ofArray(new byte[(int) Math.min(gap, 1 << 16)]);
        while (gap > 0) {
            MemorySegment some = zeros.asSlice(0, Math.min(gap, zeros.byteSize()));
            write(some);
            gap -= some.byteSize();
        }
    }
}
