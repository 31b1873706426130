package io.undercroft.interop.numpy;

import io.undercroft.serializer.spi.Output;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// Hands on what is written in small copies, which can be looked at without a mapping going away meanwhile. Belongs to
/// one thread.
final class Pieces implements Output {
    /// The most bytes in one piece.
    static final int SIZE = 1 << 18;

    private final MemorySegment buffer = MemorySegment.ofArray(new byte[SIZE]);
    private final Sink sink;
    private long position;

    /// Takes pieces.
    @FunctionalInterface
    interface Sink {
        /// Takes a piece, which is used again when this returns.
        void accept(MemorySegment piece) throws IOException;
    }

    Pieces(long position, Sink sink) {
        this.position = position;
        this.sink = sink;
    }

    @Override
    public long position() {
        return position;
    }

    @Override
    public void write(MemorySegment bytes) throws IOException {
        for (long done = 0; done < bytes.byteSize();) {
            MemorySegment piece = buffer.asSlice(0, Math.min(SIZE, bytes.byteSize() - done));
            piece.copyFrom(bytes.asSlice(done, piece.byteSize()));
            sink.accept(piece);
            done += piece.byteSize();
            position += piece.byteSize();
        }
    }
}
