package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.LittleEndian;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// Reads runs of bytes of any length through one buffer. For use by one thread.
public final class Scan {
    private static final int LARGEST_BUFFER = 1 << 20;

    private final MemorySegment buffer;
    private final ExtentDigester digester = new ExtentDigester();
    /// The bytes of the coded extent that was read last, as it was before.
    private MemorySegment decoded = MemorySegment.NULL;

    /// A reader of a file and of other files.
    ///
    /// @param length the number of bytes of the file that can be read
    public Scan(long length) {
        this.buffer = MemorySegment.ofArray(new byte[Math.clamp(length, FileLayout.SLOTS_BYTES, LARGEST_BUFFER)]);
    }

    /// {@return some bytes, at most as many as both commit slots have, valid until the next call}
    MemorySegment bytes(ByteSource source, long offset, int length) throws IOException {
        return piece(source, offset, length);
    }

    /// {@return the sums over a range}
    ExtentSums sums(ByteSource source, long offset, long length) throws IOException {
        for (long at = 0; at < length; at += buffer.byteSize()) {
            digester.update(piece(source, offset + at, Math.min(buffer.byteSize(), length - at)));
        }
        return digester.finish();
    }

    /// The sums over the bytes of a coded extent.
    ///
    /// @param stored those that are in the file
    /// @param content those that they are decoded to, or null if they cannot be decoded
    record Decoded(ExtentSums stored, @Nullable ExtentSums content) {}

    /// {@return the sums over a coded extent, whose coded bytes are read once}
    ///
    /// @param source the file that has the coded bytes
    /// @param reference the file that has the reference, if there is one
    /// @param coder decodes them
    Decoded sums(ByteSource source, ExtentRecord extent, Coding coding, ByteSource reference, Coder coder)
            throws IOException {
        if (decoded.byteSize() < extent.length()) {
            decoded = MemorySegment.ofArray(new byte[Math.toIntExact(extent.length())]);
        }
        MemorySegment bytes = decoded.asSlice(0, extent.length());
        ExtentSums[] stored = new ExtentSums[1];
        try {
            coder.decode(coding, into -> {
                source.read(extent.fileOffset(), into);
                digester.update(into);
                stored[0] = digester.finish();
            }, into -> reference.read(coding.referenceOffset(), into), bytes, extent.fileOffset());
        } catch (FormatException e) {
            if (Rule.of(e) != Rule.V14_CHECKSUM) {
                throw e;
            }
            return new Decoded(stored[0], null);
        }
        digester.update(bytes);
        return new Decoded(stored[0], digester.finish());
    }

    /// {@return the digest of a range}
    ///
    /// @param source a file
    /// @param offset the offset of the range
    /// @param length the number of bytes
    /// @throws IOException if they cannot be read
    public Digest128 digest(ByteSource source, long offset, long length) throws IOException {
        return sums(source, offset, length).digest();
    }

    /// {@return the place of the first byte of a range that is not zero, or `to`}
    long firstNonZero(ByteSource source, long from, long to) throws IOException {
        for (long at = from; at < to; at += buffer.byteSize()) {
            MemorySegment piece = piece(source, at, Math.min(buffer.byteSize(), to - at));
            long found = LittleEndian.firstNonZero(piece, 0, piece.byteSize());
            if (found < piece.byteSize()) {
                return at + found;
            }
        }
        return to;
    }

    private MemorySegment piece(ByteSource source, long offset, long length) throws IOException {
        MemorySegment piece = buffer.asSlice(0, length);
        source.read(offset, piece);
        return piece;
    }
}
