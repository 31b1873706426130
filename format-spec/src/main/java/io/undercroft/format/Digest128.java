package io.undercroft.format;

import com.dynatrace.hash4j.hashing.ByteAccess;
import com.dynatrace.hash4j.hashing.HashValue128;
import com.dynatrace.hash4j.hashing.Hashing;
import io.undercroft.format.internal.index.LittleEndian;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// A 128-bit digest (XXH3-128). Files store it as a little-endian number of 128 bits.
///
/// It identifies equal bytes and detects accidental changes. It is not a cryptographic hash.
///
/// @param high the upper 64 bits
/// @param low the lower 64 bits
public record Digest128(long high, long low) {
    /// The value that files store if there is no digest.
    public static final Digest128 ZERO = new Digest128(0, 0);

    /// {@return the XXH3-128 digest of bytes, with seed 0, as in `.croft` files} The bytes are not copied to the heap.
    ///
    /// @param bytes a segment of any size, on or off the heap, or mapped from a file that may be truncated during the
    ///     call
    public static Digest128 of(MemorySegment bytes) {
        HashValue128 value = Hashing.xxh3_128().hashBytesTo128Bits(bytes, 0, bytes.byteSize(), SegmentAccess.INSTANCE);
        return new Digest128(value.getMostSignificantBits(), value.getLeastSignificantBits());
    }

    /// Explicit, since the JVM would generate it when the first file is opened.
    @Override
    public boolean equals(Object other) {
        return other instanceof Digest128 that && high == that.high && low == that.low;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(high ^ low);
    }

    /// {@return the 32 hexadecimal digits, as other XXH3 tools print them}
    @Override
    public String toString() {
        return String.format("%016x%016x", high, low);
    }

    /// The access to segments of hash4j is found by reflection, which costs start-up time.
    private enum SegmentAccess implements ByteAccess<MemorySegment> {
        INSTANCE;

        @Override
        public byte getByte(MemorySegment bytes, long at) {
            return bytes.get(ValueLayout.JAVA_BYTE, at);
        }

        @Override
        public int getInt(MemorySegment bytes, long at) {
            return LittleEndian.i32(bytes, at);
        }

        @Override
        public long getLong(MemorySegment bytes, long at) {
            return LittleEndian.i64(bytes, at);
        }

        @Override
        public void copyToByteArray(MemorySegment bytes, long at, byte[] into, int offset, int length) {
            MemorySegment.copy(bytes, at, MemorySegment.ofArray(into), offset, length);
        }
    }
}
