package io.undercroft.serializer.internal.writing;

import io.undercroft.serializer.SaveProgress;
import io.undercroft.serializer.internal.disk.Sink;
import io.undercroft.serializer.spi.Output;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// Collects what is written from the first byte to the last in a block of memory, so that the file gets few and large writes, at the borders of
/// pages. Belongs to one thread.
final class BlockOutput implements Output, AutoCloseable {
    private final Sink sink;
    private final long expected;
    private final SaveProgress listener;
    private final Blocks blocks;
    private final MemorySegment block;
    private long written;
    private long filled;

    /// A file that has no bytes yet.
    ///
    /// @param sink where it is written
    /// @param expected how many bytes it is going to have, as near as is known
    /// @param listener is told so at once
    BlockOutput(Sink sink, long expected, SaveProgress listener) {
        this.sink = sink;
        this.expected = expected;
        this.listener = listener;
        listener.written(0, expected);
        this.blocks = Blocks.allocate(1, Blocks.BLOCK);
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
            MemorySegment.copy(bytes, done, block, filled, length);
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
        filled = 0;
        // The last call is the one of finish.
        if (written < expected) {
            listener.written(written, expected);
        }
    }

    /// Writes what is left, and says that this was all.
    ///
    /// @throws IOException if the disk is full or failing
    void finish() throws IOException {
        if (filled > 0) {
            sink.write(written, block.asSlice(0, filled));
            written += filled;
            filled = 0;
        }
        listener.written(written, written);
    }

    @Override
    public void close() {
        blocks.close();
    }
}
