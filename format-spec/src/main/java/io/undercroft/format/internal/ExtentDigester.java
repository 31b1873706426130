package io.undercroft.format.internal;

import com.dynatrace.hash4j.hashing.HashStream128;
import com.dynatrace.hash4j.hashing.HashValue128;
import com.dynatrace.hash4j.hashing.Hashing;
import io.undercroft.format.Digest128;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.zip.CRC32C;

/// Computes the CRC32C and the digest of a run of bytes, fed in order and in pieces of any size.
///
/// Each byte is copied once through a small buffer, so that a mapped source which is truncated meanwhile throws
/// [InternalError] and does not crash the JVM. For use by one thread.
public final class ExtentDigester {
    private static final int PIECE = 1 << 16;
    /// Some processors copy larger pieces without the cache; smaller pieces are slower.
    private static final long COPIED = 1 << 18;

    private final CRC32C crc = new CRC32C();
    private final HashStream128 stream = Hashing.xxh3_128().hashStream();
    private final byte[] piece = new byte[PIECE];

    /// Creates a digester at the start of a run.
    public ExtentDigester() {}

    /// Adds the next bytes.
    ///
    /// @param bytes on or off the heap
    public void update(MemorySegment bytes) {
        for (long at = 0; at < bytes.byteSize(); at += PIECE) {
            int length = (int) Math.min(PIECE, bytes.byteSize() - at);
            MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, at, piece, 0, length);
            crc.update(piece, 0, length);
            stream.putBytes(piece, 0, length);
        }
    }

    /// Copies the next bytes and adds the copy, so that the sums are those of the copy, even if another thread changes
    /// the bytes meanwhile. The copy is summed up while it is in the cache.
    ///
    /// @param bytes on or off the heap
    /// @param into the destination, as many bytes
    public void copy(MemorySegment bytes, MemorySegment into) {
        for (long at = 0; at < bytes.byteSize(); at += COPIED) {
            long length = Math.min(COPIED, bytes.byteSize() - at);
            MemorySegment copy = into.asSlice(at, length);
            copy.copyFrom(bytes.asSlice(at, length));
            update(copy);
        }
    }

    /// Ends the run; the digester then is at the start of the next one.
    ///
    /// @return the sums over all bytes since the last call
    public ExtentSums finish() {
        HashValue128 digest = stream.get();
        ExtentSums sums = new ExtentSums((int) crc.getValue(),
                new Digest128(digest.getMostSignificantBits(), digest.getLeastSignificantBits()));
        stream.reset();
        crc.reset();
        return sums;
    }
}
