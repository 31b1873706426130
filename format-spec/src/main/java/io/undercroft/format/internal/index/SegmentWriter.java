package io.undercroft.format.internal.index;

import io.undercroft.format.Digest128;
import java.lang.foreign.MemorySegment;
import java.util.UUID;

/// Writes fields into a segment that is zero, from its start on. Belongs to one thread.
public final class SegmentWriter implements FieldWriter {
    private final MemorySegment segment;
    private long position;

    /// A writer at the start of a segment.
    public SegmentWriter(MemorySegment segment) {
        this.segment = segment;
    }

    @Override
    public void u8(String name, int value) {
        Fields.putByte(segment, position, value);
        position += Byte.BYTES;
    }

    @Override
    public void u16(String name, int value) {
        Fields.putShort(segment, position, value);
        position += Short.BYTES;
    }

    @Override
    public void u32(String name, int value) {
        Fields.putInt(segment, position, value);
        position += Integer.BYTES;
    }

    @Override
    public void u64(String name, long value) {
        Fields.putLong(segment, position, value);
        position += Long.BYTES;
    }

    @Override
    public void digest(String name, Digest128 digest) {
        u64(name, digest.low());
        u64(name, digest.high());
    }

    @Override
    public void uuid(String name, UUID uuid) {
        u64(name, Long.reverseBytes(uuid.getMostSignificantBits()));
        u64(name, Long.reverseBytes(uuid.getLeastSignificantBits()));
    }

    @Override
    public void bytes(String name, byte[] bytes) {
        MemorySegment.copy(MemorySegment.ofArray(bytes), 0, segment, position, bytes.length);
        position += bytes.length;
    }

    @Override
    public void zeros(String name, int count) {
        position += count;
    }
}
