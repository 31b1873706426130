package io.undercroft.serializer.internal.writing;

import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Header;
import io.undercroft.serializer.internal.disk.Sink;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.util.UUID;

/// A sealed file: written from its first byte to its last to something that cannot seek, such as a socket, a pipe or an
/// upload (section 10.8 of the format). For use by one thread.
final class SealedFile implements Sink {
    private static final long PIECE = 1 << 16;

    private final Receiver receiver;
    private final UUID uuid;
    private final MemorySegment zeros = Arena.ofAuto().allocate(PIECE);
    private long position;

    /// Something that takes bytes in order.
    @FunctionalInterface
    interface Receiver {
        /// Takes bytes.
        ///
        /// @param bytes the bytes, which may change when this returns
        /// @throws IOException if that fails
        void take(MemorySegment bytes) throws IOException;
    }

    /// Starts a file.
    ///
    /// @param receiver takes its bytes
    /// @param uuid its id
    /// @param chunkLog2 the logarithm of its chunk size
    /// @throws IOException if writing fails
    SealedFile(Receiver receiver, UUID uuid, int chunkLog2) throws IOException {
        this.receiver = receiver;
        this.uuid = uuid;
        Header header = Header.sealed(uuid, chunkLog2);
        write(0, MemorySegment.ofArray(header.encode()));
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

    /// {@return the number of bytes that were written}
    long size() {
        return position;
    }

    /// {@return what writes to a channel, which stays open}
    ///
    /// @param channel the channel
    static Receiver channel(WritableByteChannel channel) {
        return bytes -> {
            for (long done = 0; done < bytes.byteSize(); done += PIECE) {
                ByteBuffer piece = bytes.asSlice(done, Math.min(PIECE, bytes.byteSize() - done)).asByteBuffer();
                while (piece.hasRemaining()) {
                    channel.write(piece);
                }
            }
        };
    }

    /// Ends the file.
    ///
    /// @param index its index
    /// @param extentsEnd the end of its extents
    /// @param timeMillis the time at which it was made, or 0
    /// @param message its message
    /// @throws IOException if writing fails
    void finish(MemorySegment index, long extentsEnd, long timeMillis, String message) throws IOException {
        long place = FileLayout.placeIndex(extentsEnd);
        CommitRecord commit = CommitRecord.first(index, place, uuid, timeMillis, message);
        write(place, index);
        write(FileLayout.placeIndex(position), MemorySegment.ofArray(commit.encode()));
    }
}
