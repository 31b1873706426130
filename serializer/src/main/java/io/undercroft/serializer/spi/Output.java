package io.undercroft.serializer.spi;

import io.undercroft.format.internal.FileLayout;
import io.undercroft.mmap.MappingException;
import io.undercroft.mmap.Pages;
import io.undercroft.serializer.internal.extents.Blocks;
import io.undercroft.storage.BorrowedBytes;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;

/// Writes a file from its first byte to its last. Bytes are collected in a block of memory, so that writes to the sink
/// are few, large and aligned to pages. For use by one thread.
///
/// A [Draft] receives one, which it neither flushes nor closes.
public class Output implements AutoCloseable {
    /// The least size of the block, in case a format estimates too little. Pages that are not touched take no memory.
    private static final long LEAST = 1 << 16;

    private final Sink sink;
    private final Blocks blocks;
    private final MemorySegment block;
    private long written;
    private long filled;

    /// An output that has no bytes yet.
    ///
    /// @param sink the sink to write to, in ascending order without gaps
    /// @param expected the estimated number of bytes; a small one takes less memory
    public Output(Sink sink, long expected) {
        this.sink = sink;
        this.blocks = Blocks.allocate(1, FileLayout.placePage(Math.clamp(expected, LEAST, Blocks.BLOCK)));
        this.block = blocks.get(0);
    }

    /// {@return the number of bytes that were written so far}
    public final long position() {
        return written + filled;
    }

    /// Writes bytes. They are copied, so they may change as soon as this returns.
    ///
    /// @param bytes a segment of host memory, of any size; also a mapping of a file, which may be cut meanwhile
    /// @throws IOException if the disk is full or failing
    public void write(MemorySegment bytes) throws IOException {
        long done = 0;
        while (done < bytes.byteSize()) {
            long length = Math.min(bytes.byteSize() - done, block.byteSize() - filled);
            MemorySegment from = bytes.asSlice(done, length);
            MemorySegment to = block.asSlice(filled, length);
            Pages.guard(from, () -> to.copyFrom(from));
            done += length;
            filled += length;
            if (filled == block.byteSize()) {
                flush();
            }
        }
    }

    /// Writes bytes of a storage, wherever they are. Those of a device pass through its host buffers, and those that
    /// are decoded from a file are [borrowed][Storage#borrow].
    ///
    /// @param storage the storage
    /// @param offset the first byte
    /// @param length the number of bytes
    /// @throws IOException if the disk is full or failing
    /// @throws IllegalStateException if the storage was freed
    public final void write(Storage storage, long offset, long length) throws IOException {
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
    public final void align(long alignment) throws IOException {
        long gap = -position() & (alignment - 1);
        MemorySegment zeros = MemorySegment.ofArray(new byte[(int) Math.min(gap, 1 << 16)]);
        while (gap > 0) {
            MemorySegment some = zeros.asSlice(0, Math.min(gap, zeros.byteSize()));
            write(some);
            gap -= some.byteSize();
        }
    }

    /// Writes what was collected to the sink.
    ///
    /// @throws IOException if the disk is full or failing
    public final void flush() throws IOException {
        if (filled > 0) {
            sink.write(written, block.asSlice(0, filled));
            written += filled;
            filled = 0;
        }
    }

    /// Frees the block. What was not [flushed][#flush] is not written.
    @Override
    public void close() {
        blocks.close();
    }
}
