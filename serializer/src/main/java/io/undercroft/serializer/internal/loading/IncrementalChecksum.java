package io.undercroft.serializer.internal.loading;

import java.lang.foreign.MemorySegment;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.ToIntFunction;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;

/// The checksum of a run of bytes of a storage that arrives in parts, in any order and from several threads.
///
/// The checksums of the parts are combined like by zlib's `crc32_combine`: the checksum of two runs is that of the
/// second, combined with that of the first times x to the power of eight times the length of the second, modulo the
/// polynomial.
public final class IncrementalChecksum {
    private final Kind kind;
    private final long start;
    private final long length;
    private final int expected;
    /// The checksums of the parts by the offsets of their first bytes.
    private final NavigableMap<Long, Part> parts = new TreeMap<>();

    /// The kinds of checksum.
    public enum Kind {
        /// The checksum of zip archives.
        CRC32(0xEDB88320),
        /// The checksum of `.croft` files (Castagnoli).
        CRC32C(0x82F63B78);

        /// The coefficient of the highest power is left out, the others are in descending order from the lowest bit.
        private final int polynomial;

        Kind(int polynomial) {
            this.polynomial = polynomial;
        }

        /// {@return the checksum of all bytes of a segment}
        ///
        /// @param bytes bytes that cannot disappear, such as those of a buffer
        int of(MemorySegment bytes) {
            Checksum digest = this == CRC32 ? new CRC32() : new CRC32C();
            for (long at = 0; at < bytes.byteSize(); at += PIECE) {
                digest.update(bytes.asSlice(at, Math.min(PIECE, bytes.byteSize() - at)).asByteBuffer());
            }
            return (int) digest.getValue();
        }

        /// {@return the checksum of two runs of bytes, one after the other}
        ///
        /// @param first that of the first
        /// @param second that of the second
        /// @param length the size of the second, in bytes
        int combine(int first, int second, long length) {
            return times(first, power(length)) ^ second;
        }

        /// {@return the checksum of a run of zeros} The register before the first byte and the result are inverted.
        ///
        /// @param length the number of bytes
        public int ofZeros(long length) {
            return combine(-1, -1, length);
        }

        /// {@return x to the power of eight times a number}
        private int power(long bytes) {
            int power = ONE;
            int square = ONE >>> Byte.SIZE;
            for (long left = bytes; left != 0; left >>>= 1) {
                if ((left & 1) != 0) {
                    power = times(power, square);
                }
                square = times(square, square);
            }
            return power;
        }

        private int times(int a, int b) {
            int product = 0;
            int shifted = b;
            for (int bit = ONE; bit != 0; bit >>>= 1) {
                if ((a & bit) != 0) {
                    product ^= shifted;
                }
                shifted = (shifted & 1) != 0 ? shifted >>> 1 ^ polynomial : shifted >>> 1;
            }
            return product;
        }
    }

    private static final long PIECE = 1 << 30;
    /// The polynomial 1.
    private static final int ONE = 1 << 31;

    private record Part(long length, int checksum) {}

    /// A run of which nothing has arrived.
    ///
    /// @param kind the kind of checksum
    /// @param start its first byte, counted from the start of the storage; negative if the checksum covers bytes before
    ///     the storage
    /// @param length the size of the run in bytes
    /// @param expected the checksum that it should have
    public IncrementalChecksum(Kind kind, long start, long length, int expected) {
        this.kind = kind;
        this.start = start;
        this.length = length;
        this.expected = expected;
    }

    Kind kind() {
        return kind;
    }

    /// {@return its first byte, counted from the start of the storage}
    long start() {
        return start;
    }

    /// {@return its end, counted from the start of the storage}
    long end() {
        return start + length;
    }

    /// Adds the checksum of some bytes of this run.
    ///
    /// @param offset the first of the bytes, counted from the start of the storage
    /// @param bytes the bytes; no byte of the run arrives twice
    public void add(long offset, MemorySegment bytes) {
        add(offset, bytes, kind::of);
    }

    /// Adds the checksum of some bytes of this run.
    ///
    /// @param offset the first of the bytes, counted from the start of the storage
    /// @param bytes the bytes; no byte of the run arrives twice
    /// @param sum computes a checksum of this kind
    void add(long offset, MemorySegment bytes, ToIntFunction<MemorySegment> sum) {
        long from = Math.max(offset, start);
        long to = Math.min(offset + bytes.byteSize(), end());
        if (from < to) {
            Part part = new Part(to - from, sum.applyAsInt(bytes.asSlice(from - offset, to - from)));
            synchronized (parts) {
                parts.put(from - start, part);
            }
        }
    }

    /// {@return whether all bytes have arrived and have the expected checksum}
    public boolean matches() {
        synchronized (parts) {
            long end = 0;
            int checksum = 0;
            for (var part : parts.entrySet()) {
                if (part.getKey() != end) {
                    return false;
                }
                checksum = end == 0
                        ? part.getValue().checksum()
                        : kind.combine(checksum, part.getValue().checksum(), part.getValue().length());
                end += part.getValue().length();
            }
            return end == length && checksum == expected;
        }
    }
}
