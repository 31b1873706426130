package io.undercroft.format.internal;

import io.undercroft.format.internal.index.FieldWriter;
import io.undercroft.format.internal.index.Fields;
import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.RecordWriter;
import io.undercroft.format.internal.index.Section;
import io.undercroft.format.internal.index.SectionType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Writes an index with what each of its bytes means: each record is read as readers do, and written as writers do, so
/// the dump is the same bytes if and only if the two agree.
final class IndexDump {
    private final Index index;
    private final MemorySegment bytes;
    private final FieldWriter fields;

    private IndexDump(Index index, FieldWriter fields) {
        this.index = index;
        this.bytes = index.bytes();
        this.fields = fields;
    }

    /// Writes the index of a snapshot.
    ///
    /// @param out where to
    /// @param snapshot any snapshot
    static void write(FieldWriter out, Snapshot snapshot) {
        new IndexDump(snapshot.index(), out).write();
    }

    private void write() {
        long end = Index.directory(bytes).byteSize();
        RecordWriter.head(fields, Fields.i32(bytes, 4), Fields.i64(bytes, 8), Fields.i64(bytes, 16),
                Fields.i32(bytes, 24));
        for (long entry = Index.HEAD_BYTES; entry < end; entry += Index.ENTRY_BYTES) {
            RecordWriter.entry(fields, section(entry), Fields.i64(bytes, entry + 8), Fields.i32(bytes, entry + 36));
        }
        for (long entry = Index.HEAD_BYTES; entry < Index.directory(bytes).byteSize(); entry += Index.ENTRY_BYTES) {
            long start = Fields.i64(bytes, entry + 8);
            long length = Fields.i64(bytes, entry + 16);
            run("padding", end, start - end);
            writeSection(SectionType.of(Fields.i32(bytes, entry)), start, length);
            end = start + length;
        }
        run("padding", end, bytes.byteSize() - end);
    }

    private Section section(long entry) {
        StringBuilder name = new StringBuilder();
        for (int i = 0; i < 4; i++) {
            name.append((char) Fields.u8(bytes, entry + i));
        }
        return new Section(name.toString(), true, Fields.i32(bytes, entry + 4), Fields.u32(bytes, entry + 32),
                Fields.i64(bytes, entry + 24), _ -> {});
    }

    private void writeSection(SectionType type, long start, long length) {
        switch (type) {
            case DIMS -> writeDims();
            case STRB -> writeTexts(start);
            case TREE, META -> writeTree(bytes.asSlice(start, length));
            case null -> run("unknown", start, length);
            default -> {
                for (int number = 0; number < index.count(type); number++) {
                    long at = start + (long) number * index.recordSize(type);
                    writeRecord(type, number, at);
                    run("unknown", at + type.recordSize(), index.recordSize(type) - type.recordSize());
                }
            }
        }
    }

    private void writeRecord(SectionType type, int number, long at) {
        switch (type) {
            case EXTN -> RecordWriter.extent(fields, index.extent(number));
            case STOR -> {
                StorageRecord storage = index.storage(number);
                RecordWriter.storage(fields, storage.nbytes(), storage.firstExtent(), Fields.i32(bytes, at + 12));
            }
            case TENS -> RecordWriter.tensor(fields, index.tensor(number), Fields.i32(bytes, at + 16),
                    (int) index.nameOfTensor(number));
            case NAMS -> RecordWriter.name(fields, Fields.i64(bytes, at), Fields.i32(bytes, at + 8),
                    index.tensorOfName(number));
            case STRS -> RecordWriter.string(fields, Fields.i64(bytes, at), Fields.i32(bytes, at + 8));
            case DTYP -> RecordWriter.dtype(fields, Fields.i64(bytes, at), Fields.i32(bytes, at + 8),
                    index.dtype(number).bits());
            case BASE -> RecordWriter.base(fields, Fields.i64(bytes, at), Fields.i32(bytes, at + 8),
                    index.base(number));
            case FREE -> RecordWriter.freeRange(fields, index.freeRange(number));
            case ISUM -> fields.u32("block CRC32C", Fields.i32(bytes, at));
            case DIMS, STRB, TREE, META -> throw new AssertionError(type + " has no records of its own");
        }
    }

    /// Canonical writers put the sizes and strides of one tensor after those of another, but for those that are there.
    private void writeDims() {
        long end = 0;
        for (int number = 0; number < index.count(SectionType.TENS); number++) {
            TensorRecord tensor = index.tensor(number);
            long at = index.fileOffset(SectionType.TENS, number) - index.fileOffset();
            if (Fields.u32(bytes, at + 16) < end) {
                continue;
            }
            end += 2L * tensor.rank();
            for (long size : tensor.shape()) {
                RecordWriter.size(fields, size);
            }
            for (long step : tensor.stride()) {
                RecordWriter.stride(fields, step);
            }
        }
    }

    /// Canonical writers put the texts in the order of the tables.
    private void writeTexts(long start) {
        long at = start;
        for (SectionType type : new SectionType[]{SectionType.DTYP, SectionType.STRS, SectionType.NAMS,
                SectionType.BASE}) {
            for (long number = 0; number < index.count(type); number++) {
                long record = index.fileOffset(type, number) - index.fileOffset();
                // Those that are not here are in the tree.
                long length = Fields.i64(bytes, record) == at - start ? Fields.u32(bytes, record + 8) : 0;
                run("text", at, length);
                at += length;
            }
        }
    }

    /// Each token gets its line.
    private void writeTree(MemorySegment tree) {
        StateTreeReader reader = new StateTreeReader(tree, Limits.DEFAULT, 0);
        for (StateToken token = reader.next(); token != StateToken.DONE; token = reader.next()) {
            write(token.name(), tree.asSlice(reader.offset(), reader.end() - reader.offset()));
        }
    }

    private void run(String name, long from, long length) {
        write(name, bytes.asSlice(from, length));
    }

    private void write(String name, MemorySegment run) {
        fields.bytes(name, run.toArray(ValueLayout.JAVA_BYTE));
    }
}
