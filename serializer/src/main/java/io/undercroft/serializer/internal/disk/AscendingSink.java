package io.undercroft.serializer.internal.disk;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;

/// A sink for something that cannot seek, such as a socket, a pipe or an upload. For use by one thread at a time.
public class AscendingSink implements Sink {
    private static final long PIECE = 1 << 16;

    private final Receiver receiver;
    private final MemorySegment zeros = Arena.ofAuto().allocate(PIECE);
    private long position;

    /// Something that takes bytes in order.
    @FunctionalInterface
    public interface Receiver {
        /// Takes bytes.
        ///
        /// @param bytes the bytes, which may change when this returns
        /// @throws IOException if that fails
        void take(MemorySegment bytes) throws IOException;
    }

    /// A sink to which nothing was written.
    ///
    /// @param receiver takes the bytes
    public AscendingSink(Receiver receiver) {
        this.receiver = receiver;
    }

    /// {@return a sink that writes to a channel, which stays open}
    ///
    /// @param channel the channel
    public static AscendingSink of(WritableByteChannel channel) {
        return new AscendingSink(bytes -> {
            for (long done = 0; done < bytes.byteSize(); done += PIECE) {
                ByteBuffer piece = bytes.asSlice(done, Math.min(PIECE, bytes.byteSize() - done)).asByteBuffer();
                while (piece.hasRemaining()) {
                    channel.write(piece);
                }
            }
        });
    }

    /// {@inheritDoc}
    ///
    /// @throws IllegalStateException if the offset is before the end of what was written
    @Override
    public void write(long offset, MemorySegment bytes) throws IOException {
        if (offset < position) {
            throw new IllegalStateException("byte " + offset + " was written already, up to " + position);
        }
        while (position < offset) {
            put(zeros.asSlice(0, Math.min(PIECE, offset - position)));
        }
        put(bytes);
    }

    private void put(MemorySegment bytes) throws IOException {
        receiver.take(bytes);
        position += bytes.byteSize();
    }

    @Override
    public Order order() {
        return Order.ASCENDING;
    }

    /// {@return the number of bytes that were written, skipped ones included}
    public long size() {
        return position;
    }
}
