package io.undercroft.format;

import com.dynatrace.hash4j.hashing.HashStream128;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.zip.CRC32C;

/// Sums up the bytes of one RAW extent, fed in order and in pieces of any size: one CRC32C a chunk, and one digest.
///
/// Each byte is copied once through a small buffer, so that a mapped source which is truncated meanwhile throws
/// [InternalError] and does no worse. Belongs to one thread.
public final class ExtentDigester {
    private static final int PIECE = 1 << 16;
    /// Larger pieces are copied past the cache by some processors, smaller ones more slowly.
    private static final long COPIED = 1 << 18;

    private final long chunkBytes;
    private final CRC32C crc = new CRC32C();
    private final HashStream128 stream = Digests.hasher().hashStream();
    private final byte[] piece = new byte[PIECE];
    private int[] checksums = new int[4];
    private int chunks;
    private long inChunk;

    /// A digester that has seen no byte.
    ///
    /// @param chunkLog2 the logarithm of the chunk size in bytes, as in the file's [Header]
    public ExtentDigester(int chunkLog2) {
        this.chunkBytes = 1L << Header.checkChunkLog2(chunkLog2);
    }

    /// Takes the next bytes.
    ///
    /// @param bytes on or off the heap
    public void update(MemorySegment bytes) {
        for (long at = 0; at < bytes.byteSize();) {
            int length = (int) Math.min(Math.min(PIECE, bytes.byteSize() - at), chunkBytes - inChunk);
            MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, at, piece, 0, length);
            crc.update(piece, 0, length);
            stream.putBytes(piece, 0, length);
            at += length;
            inChunk += length;
            if (inChunk == chunkBytes) {
                endChunk();
            }
        }
    }

    /// Copies the next bytes and takes the copy, so that the sums are those of the copy, whatever another thread does to the
    /// bytes meanwhile. The copy is summed up while it is in the cache.
    ///
    /// @param bytes on or off the heap
    /// @param into where to, as many bytes
    public void copy(MemorySegment bytes, MemorySegment into) {
        for (long at = 0; at < bytes.byteSize(); at += COPIED) {
            long length = Math.min(COPIED, bytes.byteSize() - at);
            MemorySegment copy = into.asSlice(at, length);
            copy.copyFrom(bytes.asSlice(at, length));
            update(copy);
        }
    }

    /// Ends the extent; the digester then stands at the start of the next one.
    ///
    /// @return the sums over all bytes since the last call
    public ExtentSums finish() {
        if (inChunk > 0) {
            endChunk();
        }
        ExtentSums sums = new ExtentSums(Arrays.copyOf(checksums, chunks), Digests.digest(stream.get()));
        stream.reset();
        chunks = 0;
        return sums;
    }

    private void endChunk() {
        if (chunks == checksums.length) {
            checksums = Arrays.copyOf(checksums, 2 * chunks);
        }
        checksums[chunks++] = (int) crc.getValue();
        crc.reset();
        inChunk = 0;
    }
}
