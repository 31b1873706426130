package io.undercroft.format.internal;

import io.undercroft.format.internal.index.Field;
import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.RecordLayout;
import io.undercroft.format.internal.index.Records.DimFields;
import io.undercroft.format.internal.index.Records.SectionFields;
import io.undercroft.format.internal.index.Records.DirectoryFields;
import io.undercroft.format.internal.index.Records.TensorFields;
import io.undercroft.format.internal.index.Records;
import io.undercroft.format.internal.index.SectionType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/// Writes an index with what each of its bytes means.
final class IndexDump {
    private final Index index;
    private final MemorySegment bytes;
    private final ChronicleWriter fields;

    private IndexDump(Index index, ChronicleWriter fields) {
        this.index = index;
        this.bytes = index.bytes();
        this.fields = fields;
    }

    /// Writes the index of a snapshot.
    ///
    /// @param out where to
    /// @param snapshot any snapshot
    static void write(ChronicleWriter out, Snapshot snapshot) {
        new IndexDump(snapshot.index(), out).write();
    }

    private void write() {
        long end = Records.directory(bytes).byteSize();
        fields.record(DirectoryFields.RECORD, bytes, 0);
        for (long entry = Index.HEAD_BYTES; entry < end; entry += Index.ENTRY_BYTES) {
            for (Field field : SectionFields.RECORD.fields()) {
                String which = field.equals(SectionFields.SECTION) ? " " + code(entry) : "";
                fields.field(field.name() + which, field, bytes, entry);
            }
        }
        for (long entry = Index.HEAD_BYTES; entry < Records.directory(bytes).byteSize(); entry += Index.ENTRY_BYTES) {
            long start = SectionFields.OFFSET.get(bytes, entry);
            long length = SectionFields.LENGTH.get(bytes, entry);
            run("padding", end, start - end);
            writeSection(SectionType.of(SectionFields.SECTION.getInt(bytes, entry)), start, length);
            end = start + length;
        }
        run("padding", end, bytes.byteSize() - end);
    }

    private String code(long entry) {
        return new String(bytes.asSlice(entry, SectionFields.SECTION.size()).toArray(ValueLayout.JAVA_BYTE),
                StandardCharsets.ISO_8859_1);
    }

    private void writeSection(SectionType type, long start, long length) {
        switch (type) {
            case DIMS -> writeDims(start);
            case STRB -> writeTexts(start);
            case TREE, META -> writeTree(bytes.asSlice(start, length));
            case null -> run("unknown", start, length);
            default -> {
                for (int number = 0; number < index.count(type); number++) {
                    long at = start + (long) number * index.recordSize(type);
                    fields.record(type.record(), bytes, at);
                    run("unknown", at + type.recordSize(), index.recordSize(type) - type.recordSize());
                }
            }
        }
    }

    /// Canonical writers put the sizes and strides of one tensor after those of another, but for those that are there.
    private void writeDims(long start) {
        long end = 0;
        for (long number = 0; number < index.count(SectionType.TENS); number++) {
            long tensor = index.fileOffset(SectionType.TENS, number) - index.fileOffset();
            if (TensorFields.FIRST_DIM.get(bytes, tensor) < end) {
                continue;
            }
            long rank = TensorFields.RANK.get(bytes, tensor);
            for (long dim = 0; dim < 2 * rank; dim++) {
                fields.field(dim < rank ? "size" : "stride", DimFields.DIM, bytes,
                        start + DimFields.RECORD.size() * end);
                end++;
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
                long length = RecordLayout.TEXT.get(bytes, record) == at - start
                        ? RecordLayout.TEXT_LENGTH.get(bytes, record)
                        : 0;
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
        fields.run(name, run);
    }
}
