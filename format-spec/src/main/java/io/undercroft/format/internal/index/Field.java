package io.undercroft.format.internal.index;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Rule;
import java.lang.foreign.MemorySegment;
import java.util.UUID;

/// A field of a record, which is read and written in place. A constant of this type costs no more than the literal
/// offset and width.
///
/// @param name its name in `SPEC.md`
/// @param offset its first byte in the record
/// @param size its size in bytes: 1, 2, 4 or 8 for a number, 16 for a digest or an id
public record Field(String name, int offset, int size) {
    /// {@return the offset of the byte after the field in the record}
    public int end() {
        return offset + size;
    }

    /// {@return the number in the field, unsigned unless it has 64 bits}
    ///
    /// @param record the offset of the record in `bytes`
    public long get(MemorySegment bytes, long record) {
        return switch (size) {
            case Byte.BYTES -> LittleEndian.u8(bytes, record + offset);
            case Short.BYTES -> LittleEndian.u16(bytes, record + offset);
            case Integer.BYTES -> Integer.toUnsignedLong(LittleEndian.i32(bytes, record + offset));
            default -> LittleEndian.i64(bytes, record + offset);
        };
    }

    /// {@return the low 32 bits of the number in the field}
    ///
    /// @param record the offset of the record in `bytes`
    public int getInt(MemorySegment bytes, long record) {
        return (int) get(bytes, record);
    }

    /// {@return the number in a field of 64 bits, which this format keeps below 2^63}
    ///
    /// @param record the offset of the record in `bytes`
    /// @param base the file offset of `bytes`, for the message
    /// @throws FormatException by rule V1 if it is 2^63 or more
    public long u64(MemorySegment bytes, long record, long base) {
        long value = get(bytes, record);
        if (value < 0) {
            throw Rule.V1_ARITHMETIC.broken("the number " + Long.toUnsignedString(value) + " is past 2^63-1",
                    base + record + offset);
        }
        return value;
    }

    /// {@return the digest in the field}
    ///
    /// @param record the offset of the record in `bytes`
    public Digest128 digest(MemorySegment bytes, long record) {
        long at = record + offset;
        return new Digest128(LittleEndian.i64(bytes, at + Long.BYTES), LittleEndian.i64(bytes, at));
    }

    /// {@return the id in the field, whose bytes are in the order of its text}
    ///
    /// @param record the offset of the record in `bytes`
    public UUID uuid(MemorySegment bytes, long record) {
        long at = record + offset;
        return new UUID(Long.reverseBytes(LittleEndian.i64(bytes, at)),
                Long.reverseBytes(LittleEndian.i64(bytes, at + Long.BYTES)));
    }

    /// Checks that the field is zero.
    ///
    /// @param record the offset of the record in `bytes`
    /// @param base the file offset of `bytes`, for the message
    /// @param where the name of the record, for the message
    /// @throws FormatException by rule V9 if it is not
    public void requireZero(MemorySegment bytes, long record, long base, String where) {
        LittleEndian.requireZero(bytes, record + offset, record + end(), base, where);
    }

    /// {@return whether all bytes of a reserved field are zero}
    ///
    /// @param record the offset of the record in `bytes`
    public boolean isZero(MemorySegment bytes, long record) {
        return LittleEndian.isZero(bytes, record + offset, record + end());
    }

    /// Writes a number.
    ///
    /// @param record the offset of the record in `bytes`
    /// @param value the number, of which the low bits are written
    public void put(MemorySegment bytes, long record, long value) {
        switch (size) {
            case Byte.BYTES -> LittleEndian.putByte(bytes, record + offset, (int) value);
            case Short.BYTES -> LittleEndian.putShort(bytes, record + offset, (int) value);
            case Integer.BYTES -> LittleEndian.putInt(bytes, record + offset, (int) value);
            default -> LittleEndian.putLong(bytes, record + offset, value);
        }
    }

    /// Writes a digest.
    ///
    /// @param record the offset of the record in `bytes`
    public void put(MemorySegment bytes, long record, Digest128 digest) {
        LittleEndian.putLong(bytes, record + offset, digest.low());
        LittleEndian.putLong(bytes, record + offset + Long.BYTES, digest.high());
    }

    /// Writes an id.
    ///
    /// @param record the offset of the record in `bytes`
    public void put(MemorySegment bytes, long record, UUID uuid) {
        LittleEndian.putLong(bytes, record + offset, Long.reverseBytes(uuid.getMostSignificantBits()));
        LittleEndian.putLong(bytes, record + offset + Long.BYTES, Long.reverseBytes(uuid.getLeastSignificantBits()));
    }
}
