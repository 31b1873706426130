package io.undercroft.interop.internal;

/// One file in a zip archive, as the central directory describes it. All numbers are checked against the archive.
///
/// @param name its path in the archive
/// @param method its compression: [#STORED] or [#DEFLATED]
/// @param crc CRC-32 of the uncompressed bytes
/// @param hasCrc whether the writer computed that
/// @param compressedSize bytes that it takes in the archive
/// @param size bytes when uncompressed
/// @param header the offset of its local header in the file, in bytes
/// @param limit the offset of the next record or of the directory
public record ZipRecord(String name, int method, int crc, boolean hasCrc, long compressedSize, long size, long header,
        long limit) {
    /// Not compressed: the record can be mapped in place.
    public static final int STORED = 0;
    /// Compressed as RFC 1951 describes.
    public static final int DEFLATED = 8;

    /// {@return whether the bytes are stored uncompressed}
    public boolean isStored() {
        return method == STORED;
    }

    ZipRecord endingAt(long next) {
        return new ZipRecord(name, method, crc, hasCrc, compressedSize, size, header, next);
    }

    ZipRecord withCrc() {
        return new ZipRecord(name, method, crc, true, compressedSize, size, header, limit);
    }
}
