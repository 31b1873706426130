package io.undercroft.format.internal;

import io.undercroft.format.internal.index.BaseNumbers;
import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.IndexAssembler;
import io.undercroft.format.internal.index.NameTable;
import io.undercroft.format.internal.index.RecordLayout;
import io.undercroft.format.internal.index.Records.Base;
import io.undercroft.format.internal.index.Records.Dtyp;
import io.undercroft.format.internal.index.Records.Free;
import io.undercroft.format.internal.index.Records.Strs;
import io.undercroft.format.internal.index.Records.Tens;
import io.undercroft.format.internal.index.Section;
import io.undercroft.format.internal.index.SectionType;
import io.undercroft.format.internal.index.SharedPlaces;
import io.undercroft.format.internal.index.StrictUtf8;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/// Writes an index section by section, in canonical order. Most records are copied as they were collected. Names are
/// written now, as they had to be sorted, and so are all references to texts, since texts are in the order of their
/// tables, except names that are in the state tree already.
final class IndexEncoder {
    private final IndexBuilder content;
    private final List<DTypeRecord> dtypes;
    private final List<byte[]> dtypeNames;
    private final MemorySegment tree;
    private final MemorySegment metadata;
    private final List<byte[]> strings;
    private final List<byte[]> paths;
    private final BaseNumbers baseNumbers;
    private final List<BaseRecord> bases;
    private final int[] names;
    private final int[] nameRanks;
    private final int[] namesInTree;

    /// Sorts the names.
    ///
    /// @throws IllegalArgumentException if two of them are equal
    IndexEncoder(IndexBuilder content) {
        this.content = content;
        this.dtypes = List.copyOf(content.dtypes.keySet());
        this.dtypeNames = dtypes.stream().map(dtype -> StrictUtf8.encode(dtype.name())).toList();
        this.strings = content.strings.keySet().stream().map(StrictUtf8::encode).toList();
        this.tree = MemorySegment.ofArray(content.tree);
        this.metadata = MemorySegment.ofArray(content.metadataTree());
        this.baseNumbers = new BaseNumbers(content.namedBases);
        this.bases = Arrays.stream(baseNumbers.kept()).mapToObj(content.bases::get).toList();
        this.paths = bases.stream().map(base -> StrictUtf8.encode(base.path())).toList();
        this.names = content.names.sorted();
        this.nameRanks = NameTable.ranks(names);
        this.namesInTree = NamesInTree.places(tree, content.names, tensor -> content.tensors.getInt(tensor, Tens.NAME));
    }

    MemorySegment encode(long sequence) {
        List<Section> known = Stream.of(SectionType.values()).filter(type -> type != SectionType.ISUM)
                .map(this::section).toList();
        List<Section> unknown = content.unknownSections.values().stream().map(Section::of).toList();
        return IndexAssembler.assemble(known, unknown, sequence);
    }

    private Section section(SectionType type) {
        return Section.of(type, count(type), bytes -> write(type, bytes));
    }

    private long count(SectionType type) {
        return switch (type) {
            case EXTN -> content.extents.count();
            case STOR -> content.storages.count();
            case TENS -> content.tensors.count();
            case DIMS -> content.dims.count();
            case NAMS -> content.names.count();
            case STRS -> strings.size();
            case DTYP -> dtypes.size();
            case STRB -> firstPath() + length(paths);
            case TREE -> tree.byteSize();
            case META -> metadata.byteSize();
            case BASE -> paths.size();
            case FREE -> content.freeRanges.size();
            case ISUM -> 0;
        };
    }

    private void write(SectionType type, MemorySegment section) {
        switch (type) {
            case EXTN -> {
                content.extents.copyTo(section);
                baseNumbers.apply(section, type.recordSize());
                SharedPlaces.flag(section, type.recordSize());
            }
            case STOR -> content.storages.copyTo(section);
            case TENS -> writeTensors(section);
            case DIMS -> content.dims.copyTo(section);
            case NAMS -> content.names.writeRecords(section, names, firstName(), count(SectionType.STRB), namesInTree);
            case STRS -> writeTextPlaces(section, Strs.RECORD, strings, firstString());
            case DTYP -> writeDTypes(section);
            case STRB -> writeTexts(section);
            case TREE -> section.copyFrom(tree);
            case META -> section.copyFrom(metadata);
            case BASE -> writeBases(section);
            case FREE -> writeFreeRanges(section);
            case ISUM -> throw new AssertionError("the checksums of blocks are made when the index is put together");
        }
    }

    private void writeTensors(MemorySegment section) {
        content.tensors.copyTo(section);
        for (long tensor = 0; tensor < content.tensors.count(); tensor++) {
            long name = content.tensors.get(tensor, Tens.NAME);
            if (name != Index.NONE) {
                Tens.NAME.put(section, tensor * Tens.RECORD.size(), nameRanks[(int) name]);
            }
        }
    }

    /// Writes the first two fields of each record of a section.
    private static void writeTextPlaces(MemorySegment section, RecordLayout record, List<byte[]> texts, long first) {
        long text = first;
        long at = 0;
        for (byte[] utf8 : texts) {
            RecordLayout.TEXT.put(section, at, text);
            RecordLayout.TEXT_LENGTH.put(section, at, utf8.length);
            text += utf8.length;
            at += record.size();
        }
    }

    private void writeDTypes(MemorySegment section) {
        writeTextPlaces(section, Dtyp.RECORD, dtypeNames, 0);
        long at = 0;
        for (DTypeRecord dtype : dtypes) {
            Dtyp.BITS.put(section, at, dtype.bits());
            Dtyp.ELEMENTS.put(section, at, 1);
            at += Dtyp.RECORD.size();
        }
    }

    private void writeBases(MemorySegment section) {
        writeTextPlaces(section, Base.RECORD, paths, firstPath());
        long at = 0;
        for (BaseRecord base : bases) {
            Base.KIND.put(section, at, base.kind().code());
            Base.DEPTH.put(section, at, base.depth());
            Base.UUID.put(section, at, base.uuid());
            Base.DIGEST.put(section, at, base.digest());
            Base.LENGTH.put(section, at, base.length());
            Base.SEQUENCE.put(section, at, base.sequence());
            at += Base.RECORD.size();
        }
    }

    private void writeFreeRanges(MemorySegment section) {
        long at = 0;
        for (FreeRange range : content.freeRanges) {
            Free.OFFSET.put(section, at, range.offset());
            Free.LENGTH.put(section, at, range.length());
            at += Free.RECORD.size();
        }
    }

    private void writeTexts(MemorySegment section) {
        copyTexts(dtypeNames, section, 0);
        copyTexts(strings, section, firstString());
        content.names.copyTexts(names, section, firstName(), namesInTree);
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
        return length(dtypeNames);
    }

    private long firstName() {
        return firstString() + length(strings);
    }

    private long firstPath() {
        return firstName() + content.names.textLength(namesInTree);
    }

    private static long length(List<byte[]> texts) {
        return texts.stream().mapToLong(text -> text.length).sum();
    }
}
