package io.undercroft.hadoop.internal;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Copies memory to streams, which take arrays only.
final class Pieces {
    private static final int PIECE = 1 << 18;

    private final byte[] piece = new byte[PIECE];

    /// Writes bytes.
    ///
    /// @param bytes the bytes
    /// @param stream the stream
    /// @param location the file, for messages
    void write(MemorySegment bytes, OutputStream stream, String location) throws IOException {
        for (long done = 0; done < bytes.byteSize(); done += PIECE) {
            int length = (int) Math.min(PIECE, bytes.byteSize() - done);
            MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, done, piece, 0, length);
            try {
                stream.write(piece, 0, length);
            } catch (IOException | RuntimeException e) {
                throw Failures.writing(location, e);
            }
        }
    }
}
