package io.undercroft.format.internal;

import io.undercroft.format.internal.index.BaseNumbers;
import io.undercroft.format.internal.index.FieldWriter;
import io.undercroft.format.internal.index.Fields;
import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.IndexAssembler;
import io.undercroft.format.internal.index.NameTable;
import io.undercroft.format.internal.index.RecordTable;
import io.undercroft.format.internal.index.RecordWriter;
import io.undercroft.format.internal.index.Section;
import io.undercroft.format.internal.index.SectionType;
import io.undercroft.format.internal.index.SegmentWriter;
import io.undercroft.format.internal.index.SharedPlaces;
import io.undercroft.format.internal.index.Utf8;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.stream.Stream;

/// Writes an index section by section, in canonical order. What can be copied as it was collected is; what is written
/// now are names, which had to be sorted, and all that names a text, since the texts are in the order of their
/// tables, but for names that are in the state tree already.
final class IndexEncoder {
    private static final int NAME_OF_TENSOR = 20;

    private final Content content;
    private final List<byte[]> dtypes;
    private final List<byte[]> strings;
    private final List<byte[]> paths;
    private final BaseNumbers baseNumbers;
    private final List<BaseRecord> bases;
    private final int[] names;
    private final int[] nameRanks;
    private final int[] namesInTree;

    /// What an index says.
    ///
    /// @param extents as they will be in EXTN, but for the flag *shared*
    /// @param storages as they will be in STOR
    /// @param tensors as they will be in TENS, but for the name, which is numbered as it was added
    /// @param dims as they will be in DIMS
    /// @param namedBases the numbers, from 1 on, of the bases that an extent names; the others are left out
    record Content(List<DTypeRecord> dtypes, List<String> strings, RecordTable extents,
            RecordTable storages, RecordTable tensors, RecordTable dims, NameTable names, MemorySegment tree,
            MemorySegment metadata, List<BaseRecord> bases, BitSet namedBases, List<FreeRange> freeRanges,
            List<UnknownSection> unknown) {}

    /// Sorts the names.
    ///
    /// @throws IllegalArgumentException if two of them are equal
    IndexEncoder(Content content) {
        this.content = content;
        this.dtypes = content.dtypes().stream().map(dtype -> Utf8.encode(dtype.name())).toList();
        this.strings = content.strings().stream().map(Utf8::encode).toList();
        this.baseNumbers = new BaseNumbers(content.namedBases());
        this.bases = Arrays.stream(baseNumbers.kept()).mapToObj(content.bases()::get).toList();
        this.paths = bases.stream().map(base -> Utf8.encode(base.path())).toList();
        this.names = content.names().sorted();
        this.nameRanks = NameTable.ranks(names);
        this.namesInTree = NamesInTree.places(content.tree(), content.names(),
                tensor -> content.tensors().i32(tensor, NAME_OF_TENSOR));
    }

    MemorySegment encode(long sequence) {
        List<Section> known = Stream.of(SectionType.values()).filter(type -> type != SectionType.ISUM)
                .map(this::section).toList();
        return IndexAssembler.assemble(known, content.unknown().stream().map(Section::of).toList(), sequence);
    }

    private Section section(SectionType type) {
        return Section.of(type, count(type), bytes -> write(type, bytes));
    }

    private long count(SectionType type) {
        return switch (type) {
            case EXTN -> content.extents().count();
            case STOR -> content.storages().count();
            case TENS -> content.tensors().count();
            case DIMS -> content.dims().count();
            case NAMS -> content.names().count();
            case STRS -> strings.size();
            case DTYP -> dtypes.size();
            case STRB -> firstPath() + length(paths);
            case TREE -> content.tree().byteSize();
            case META -> content.metadata().byteSize();
            case BASE -> paths.size();
            case FREE -> content.freeRanges().size();
            case ISUM -> 0;
        };
    }

    private void write(SectionType type, MemorySegment section) {
        SegmentWriter out = new SegmentWriter(section);
        switch (type) {
            case EXTN -> {
                content.extents().copyTo(section);
                baseNumbers.apply(section, type.recordSize());
                SharedPlaces.flag(section, type.recordSize());
            }
            case STOR -> content.storages().copyTo(section);
            case TENS -> writeTensors(section);
            case DIMS -> content.dims().copyTo(section);
            case NAMS -> content.names().writeRecords(out, names, firstName(), count(SectionType.STRB), namesInTree);
            case STRS -> writeStrings(out);
            case DTYP -> writeDTypes(out);
            case STRB -> writeTexts(section);
            case TREE -> section.copyFrom(content.tree());
            case META -> section.copyFrom(content.metadata());
            case BASE -> writeBases(out);
            case FREE -> content.freeRanges().forEach(range -> RecordWriter.freeRange(out, range));
            case ISUM -> throw new AssertionError("the checksums of blocks are made when the index is put together");
        }
    }

    private void writeTensors(MemorySegment section) {
        content.tensors().copyTo(section);
        for (long tensor = 0; tensor < content.tensors().count(); tensor++) {
            int name = content.tensors().i32(tensor, NAME_OF_TENSOR);
            if (name != (int) Index.NONE) {
                Fields.putInt(section, tensor * SectionType.TENS.recordSize() + NAME_OF_TENSOR, nameRanks[name]);
            }
        }
    }

    private void writeDTypes(FieldWriter out) {
        long text = 0;
        for (int i = 0; i < dtypes.size(); i++) {
            RecordWriter.dtype(out, text, dtypes.get(i).length, content.dtypes().get(i).bits());
            text += dtypes.get(i).length;
        }
    }

    private void writeStrings(FieldWriter out) {
        long text = firstString();
        for (byte[] string : strings) {
            RecordWriter.string(out, text, string.length);
            text += string.length;
        }
    }

    private void writeBases(FieldWriter out) {
        long text = firstPath();
        for (int i = 0; i < paths.size(); i++) {
            RecordWriter.base(out, text, paths.get(i).length, bases.get(i));
            text += paths.get(i).length;
        }
    }

    private void writeTexts(MemorySegment section) {
        copyTexts(dtypes, section, 0);
        copyTexts(strings, section, firstString());
        content.names().copyTexts(names, section, firstName(), namesInTree);
        copyTexts(paths, section, firstPath());
    }

    private static void copyTexts(List<byte[]> texts, MemorySegment section, long first) {
        long at = first;
        for (byte[] text : texts) {
            MemorySegment.copy(MemorySegment.ofArray(text), 0, section, at, text.length);
            at += text.length;
        }
    }

    private long firstString() {
        return length(dtypes);
    }

    private long firstName() {
        return firstString() + length(strings);
    }

    private long firstPath() {
        return firstName() + content.names().textLength(namesInTree);
    }

    private static long length(List<byte[]> texts) {
        return texts.stream().mapToLong(text -> text.length).sum();
    }
}
