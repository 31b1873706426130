package io.undercroft.serializer.internal.writing;

import io.undercroft.format.internal.FileLayout;
import io.undercroft.mmap.Pages;
import io.undercroft.serializer.internal.disk.Sink;
import io.undercroft.serializer.internal.extents.Blocks;
import io.undercroft.serializer.spi.Output;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.function.LongConsumer;

/// A sequential output that collects bytes in a block of memory, so that writes to the file are few, large and aligned
/// to pages. For use by one thread.
final class BlockOutput implements Output, AutoCloseable {
    /// The least size of the block, in case a format estimates too little. Pages that are not touched take no memory.
    private static final long LEAST = 1 << 16;

    private final Sink sink;
    private final LongConsumer progress;
    private final Blocks blocks;
    private final MemorySegment block;
    private long written;
    private long filled;

    /// A file that has no bytes yet.
    ///
    /// @param sink the sink to write to
    /// @param expected the estimated size of the file in bytes; a small one takes less memory
    /// @param progress receives the number of bytes of each write
    BlockOutput(Sink sink, long expected, LongConsumer progress) {
        this.sink = sink;
        this.progress = progress;
        this.blocks = Blocks.allocate(1, FileLayout.placePage(Math.clamp(expected, LEAST, Blocks.BLOCK)));
        this.block = blocks.get(0);
    }

    @Override
    public long position() {
        return written + filled;
    }

    @Override
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

    private void flush() throws IOException {
        sink.write(written, block.asSlice(0, filled));
        written += filled;
        progress.accept(filled);
        filled = 0;
    }

    /// Writes the remaining bytes.
    ///
    /// @throws IOException if the disk is full or failing
    void finish() throws IOException {
        if (filled > 0) {
            flush();
        }
    }

    @Override
    public void close() {
        blocks.close();
    }
}
