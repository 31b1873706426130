package io.undercroft.format.internal;

import java.lang.foreign.MemorySegment;
import java.util.zip.CRC32C;

/// The checksum of the format, CRC32C. It is safe on a mapped file that is truncated meanwhile: the segment is read by
/// [MemorySegment]'s own accesses, which throw [InternalError], and never passed to an intrinsic, which would crash the
/// JVM.
public final class Checksums {
    /// Fits a first-level cache: copying a piece and then summing it costs half of summing in place (11 against 27 GB/s
    /// a core) and is still faster than memory.
    private static final int PIECE = 1 << 14;
    private static final long LARGEST_BUFFER = 1 << 30;

    private Checksums() {}

    /// {@return the CRC32C (Castagnoli) of all bytes of a segment}
    ///
    /// @param bytes a segment of any size, on or off the heap
    public static int crc32c(MemorySegment bytes) {
        CRC32C crc = new CRC32C();
        byte[] piece = new byte[(int) Math.min(PIECE, bytes.byteSize())];
        MemorySegment copy = MemorySegment.ofArray(piece);
        for (long at = 0; at < bytes.byteSize(); at += PIECE) {
            int length = (int) Math.min(PIECE, bytes.byteSize() - at);
            MemorySegment.copy(bytes, at, copy, 0, length);
            crc.update(piece, 0, length);
        }
        return (int) crc.getValue();
    }

    /// {@return the CRC32C (Castagnoli) of all bytes of a segment that no file is mapped to} It is twice as fast as
    /// [#crc32c(MemorySegment)], as nothing is copied; if bytes of a mapped file could not be read, it would end the
    /// JVM.
    ///
    /// @param memory a segment of any size
    public static int crc32cOfMemory(MemorySegment memory) {
        CRC32C crc = new CRC32C();
        for (long at = 0; at < memory.byteSize(); at += LARGEST_BUFFER) {
            crc.update(memory.asSlice(at, Math.min(LARGEST_BUFFER, memory.byteSize() - at)).asByteBuffer());
        }
        return (int) crc.getValue();
    }
}
