package io.undercroft.format.internal;

import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.IndexAssembler;
import io.undercroft.format.internal.index.Section;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/// Files as a newer minor version may write them: with longer records, and sections of which this one knows nothing.
final class Future {
    /// What is in the bytes that this version does not know.
    static final byte UNKNOWN = 0x5A;
    static final UnknownSection SAFE = new UnknownSection("rows", true, 3, MemorySegment.ofArray(new byte[]{1, 2, 3}));
    static final UnknownSection UNSAFE = new UnknownSection("NEXT", false, 1, MemorySegment.ofArray(new byte[]{4}));

    private Future() {}

    /// {@return a file with records longer by 8 bytes in some tables of its newest index, and with unknown sections}
    static byte[] of(byte[] file, Set<SectionType> widened, UnknownSection... unknown) throws IOException {
        Snapshot snapshot = Refusals.open(file);
        CommitRecord before = snapshot.commit();
        List<Section> sections = Stream.of(SectionType.values()).filter(type -> type != SectionType.ISUM)
                .map(type -> section(snapshot.index(), type, widened.contains(type) ? 8 : 0)).toList();
        MemorySegment index = IndexAssembler.assemble(sections, Stream.of(unknown).map(Section::of).toList(),
                before.sequence());
        byte[] copy = Arrays.copyOf(Arrays.copyOf(file, (int) before.indexOffset()),
                (int) (before.indexOffset() + index.byteSize()));
        CommitRecord commit = CommitRecord.first(index, before.indexOffset(), before.uuid(), 0, "");
        FileImage.put(copy, 0, Header.of(before.uuid(), FileImage.CHUNK_LOG2, commit.committedLength()).encode());
        FileImage.put(copy, FileLayout.FIRST_COMMIT, commit.encode());
        FileImage.put(copy, before.indexOffset(), index);
        return copy;
    }

    private static Section section(Index index, SectionType type, int more) {
        long count = index.count(type);
        int recordSize = type.recordSize();
        return Section.of(type, recordSize + more, count, bytes -> {
            bytes.fill(UNKNOWN);
            for (long i = 0; i < count; i++) {
                MemorySegment.copy(index.section(type), i * recordSize, bytes, i * (recordSize + more), recordSize);
            }
        });
    }
}
