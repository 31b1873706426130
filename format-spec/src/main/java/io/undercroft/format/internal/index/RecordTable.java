package io.undercroft.format.internal.index;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// Records of one size that are added one after the other, as they will be in a section. They are kept off the heap,
/// in blocks, so that many take hardly more memory than their bytes. Only the first block is small at first, since most
/// files have few records, and zeroing memory for a thousand takes longer than all else. For use by one thread.
public final class RecordTable {
    private static final int RECORDS_PER_BLOCK = 1024;
    private static final int FEW = 16;

    private final Arena arena = Arena.ofAuto();
    private final List<MemorySegment> blocks = new ArrayList<>();
    private final int recordSize;
    private long count;

    /// A table without records.
    ///
    /// @param record the layout of its records
    public RecordTable(RecordLayout record) {
        this.recordSize = record.size();
    }

    /// Adds a record.
    ///
    /// @return its bytes, which are zero; valid until the next record is added
    public MemorySegment append() {
        if (count == 0) {
            blocks.add(allocate(FEW));
        } else if (count < RECORDS_PER_BLOCK && count * recordSize == blocks.getFirst().byteSize()) {
            blocks.set(0, allocate(RECORDS_PER_BLOCK).copyFrom(blocks.getFirst()));
        } else if (count % RECORDS_PER_BLOCK == 0) {
            blocks.add(allocate(RECORDS_PER_BLOCK));
        }
        count++;
        return blocks.getLast().asSlice(start(count - 1), recordSize);
    }

    private MemorySegment allocate(long records) {
        return arena.allocate(records * recordSize, Long.BYTES);
    }

    /// {@return the number of records}
    public long count() {
        return count;
    }

    /// {@return a number in a record, as [Field#get] returns it}
    public long get(long record, Field field) {
        return field.get(block(record), start(record));
    }

    /// {@return the low 32 bits of a number in a record}
    public int getInt(long record, Field field) {
        return (int) get(record, field);
    }

    /// Sets a number in a record.
    public void put(long record, Field field, long value) {
        field.put(block(record), start(record), value);
    }

    /// Copies all records.
    ///
    /// @param section a section of exactly their length
    public void copyTo(MemorySegment section) {
        long done = 0;
        for (MemorySegment block : blocks) {
            long length = Math.min(block.byteSize(), section.byteSize() - done);
            MemorySegment.copy(block, 0, section, done, length);
            done += length;
        }
    }

    MemorySegment block(long record) {
        return blocks.get((int) (record / RECORDS_PER_BLOCK));
    }

    long start(long record) {
        return record % RECORDS_PER_BLOCK * recordSize;
    }
}
