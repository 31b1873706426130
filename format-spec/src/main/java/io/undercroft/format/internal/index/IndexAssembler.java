package io.undercroft.format.internal.index;

import io.undercroft.format.internal.Checksums;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.index.Records.SectionFields;
import io.undercroft.format.internal.index.Records.DirectoryFields;
import io.undercroft.format.internal.index.Records.BlockSumFields;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/// Combines the sections of an index: the directory, the sections, and in a large index the checksums of its blocks.
///
/// All sizes are known before the first byte is written, so the memory is allocated once, and each section is written
/// at its offset.
public final class IndexAssembler {
    private final List<Section> sections;
    private final boolean hasBlockSums;
    private final MemorySegment directory;
    private final long end;
    private final MemorySegment index;

    /// @param sections all but ISUM, in their order
    private IndexAssembler(List<Section> sections) {
        this.sections = sections;
        this.hasBlockSums = end(sections, directoryLength(sections.size())) > BlockSums.SMALL_INDEX;
        long directoryLength = directoryLength(sectionCount());
        this.end = end(sections, directoryLength);
        this.index = allocate(hasBlockSums ? align(end + BlockSumFields.RECORD.size() * BlockSums.count(end)) : end);
        this.directory = index.asSlice(0, directoryLength);
    }

    /// Writes an index.
    ///
    /// @param sections the known ones except ISUM, in the order of their types; one that need not be
    ///     there is left out if it has no records
    /// @param unknown the unknown ones, in any order
    /// @param sequence the number of the commit that will point to the index
    /// @return the index, off the heap if it is large
    /// @throws IllegalArgumentException if it exceeds [Limits#DEFAULT]
    public static MemorySegment assemble(List<Section> sections, List<Section> unknown, long sequence) {
        List<Section> all = new ArrayList<>(
                sections.stream().filter(section -> section.isRequired() || section.count() > 0).toList());
        unknown.stream().sorted(Comparator.comparing(Section::name)).forEach(all::add);
        if (all.size() >= Limits.DEFAULT.maxSections()) {
            throw new IllegalArgumentException(all.size() + " sections cannot be saved: readers accept "
                    + Limits.DEFAULT.maxSections() + " with the checksums of blocks");
        }
        IndexAssembler assembler = new IndexAssembler(Collections.unmodifiableList(all));
        assembler.write(sequence);
        return assembler.index;
    }

    private void write(long sequence) {
        long entry = Index.HEAD_BYTES;
        long start = directory.byteSize();
        for (Section section : sections) {
            start = align(start);
            write(entry, section, start);
            entry += Index.ENTRY_BYTES;
            start += section.length();
        }
        if (hasBlockSums) {
            write(entry, Section.of(SectionType.ISUM, BlockSums.count(end), this::writeBlockSums), end);
        }
        DirectoryFields.SIGNATURE.put(directory, 0, Index.SIGNATURE);
        DirectoryFields.SECTIONS.put(directory, 0, sectionCount());
        DirectoryFields.LENGTH.put(directory, 0, index.byteSize());
        DirectoryFields.SEQUENCE.put(directory, 0, sequence);
        DirectoryFields.CRC.put(directory, 0, Index.directoryChecksum(directory));
    }

    private int sectionCount() {
        return sections.size() + (hasBlockSums ? 1 : 0);
    }

    private void write(long entry, Section section, long start) {
        MemorySegment bytes = index.asSlice(start, section.length());
        section.content().accept(bytes);
        SectionFields.SECTION.put(directory, entry, SectionType.code(section.name()));
        SectionFields.FLAGS.put(directory, entry, section.flags());
        SectionFields.OFFSET.put(directory, entry, start);
        SectionFields.LENGTH.put(directory, entry, section.length());
        SectionFields.COUNT.put(directory, entry, section.count());
        SectionFields.RECORD_SIZE.put(directory, entry, section.recordSize());
        SectionFields.CRC.put(directory, entry, Checksums.crc32c(bytes));
    }

    private void writeBlockSums(MemorySegment sums) {
        for (long block = 0; block < BlockSums.count(end); block++) {
            BlockSumFields.CRC.put(sums, BlockSumFields.RECORD.size() * block,
                    BlockSums.ofMemory(index, directory.byteSize(), end, block));
        }
    }

    private static long directoryLength(int sections) {
        return Index.HEAD_BYTES + (long) Index.ENTRY_BYTES * sections;
    }

    /// Returns the end of the sections that follow a directory, rounded up to a multiple of 8.
    private static long end(List<Section> sections, long directory) {
        long end = directory;
        for (Section section : sections) {
            end = Math.addExact(align(end), section.length());
        }
        return align(end);
    }

    private static long align(long position) {
        return Math.addExact(position, FileLayout.SECTION_ALIGNMENT - 1) & -FileLayout.SECTION_ALIGNMENT;
    }

    private static MemorySegment allocate(long length) {
        if (length > Limits.DEFAULT.maxSummedIndexBytes()) {
            throw new IllegalArgumentException("an index of " + length + " bytes cannot be saved: readers accept "
                    + Limits.DEFAULT.maxSummedIndexBytes());
        }
        return Snapshot.allocate(length);
    }
}
