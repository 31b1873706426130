package io.undercroft.format.internal.index;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// Records of one size that are added one after the other, as they will be in a section. They are kept off the heap,
/// in blocks that never move, so that many take hardly more memory than their bytes. Belongs to one thread.
public final class RecordTable {
    private static final int RECORDS_PER_BLOCK = 1024;

    private final Arena arena = Arena.ofAuto();
    private final List<MemorySegment> blocks = new ArrayList<>();
    private final int recordSize;
    private FieldWriter writer = new SegmentWriter(MemorySegment.NULL);
    private long count;

    /// A table without records.
    ///
    /// @param recordSize the size of a record in bytes
    public RecordTable(int recordSize) {
        this.recordSize = recordSize;
    }

    /// Adds a record.
    ///
    /// @return where its fields go, all of them
    public FieldWriter append() {
        if (count % RECORDS_PER_BLOCK == 0) {
            MemorySegment block = arena.allocate((long) RECORDS_PER_BLOCK * recordSize, Long.BYTES);
            blocks.add(block);
            writer = new SegmentWriter(block);
        }
        count++;
        return writer;
    }

    /// {@return how many records there are}
    public long count() {
        return count;
    }

    /// {@return 8 bits of a record}
    ///
    /// @param field where they start in it
    public int u8(long record, int field) {
        return Fields.u8(block(record), at(record, field));
    }

    /// {@return 32 bits of a record}
    ///
    /// @param field where they start in it
    public int i32(long record, int field) {
        return Fields.i32(block(record), at(record, field));
    }

    /// {@return 64 bits of a record}
    ///
    /// @param field where they start in it
    public long i64(long record, int field) {
        return Fields.i64(block(record), at(record, field));
    }

    /// Replaces 32 bits of a record.
    ///
    /// @param field where they start in it
    public void putInt(long record, int field, int value) {
        Fields.putInt(block(record), at(record, field), value);
    }

    /// Copies all records.
    ///
    /// @param section exactly as long as they are
    public void copyTo(MemorySegment section) {
        long done = 0;
        for (MemorySegment block : blocks) {
            long length = Math.min(block.byteSize(), section.byteSize() - done);
            MemorySegment.copy(block, 0, section, done, length);
            done += length;
        }
    }

    private MemorySegment block(long record) {
        return blocks.get((int) (record / RECORDS_PER_BLOCK));
    }

    private long at(long record, int field) {
        return record % RECORDS_PER_BLOCK * recordSize + field;
    }
}
