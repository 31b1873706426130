package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.BaseNumbers;
import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.IndexAssembler;
import io.undercroft.format.internal.index.NameTable;
import io.undercroft.format.internal.index.RecordLayout;
import io.undercroft.format.internal.index.RecordTable;
import io.undercroft.format.internal.index.Records.BaseFields;
import io.undercroft.format.internal.index.Records.CodingFields;
import io.undercroft.format.internal.index.Records.DimFields;
import io.undercroft.format.internal.index.Records.DTypeFields;
import io.undercroft.format.internal.index.Records.ExtentFields;
import io.undercroft.format.internal.index.Records.FreeRangeFields;
import io.undercroft.format.internal.index.Records.StorageFields;
import io.undercroft.format.internal.index.Records.StringFields;
import io.undercroft.format.internal.index.Records.TensorFields;
import io.undercroft.format.internal.index.Section;
import io.undercroft.format.internal.index.SectionType;
import io.undercroft.format.internal.index.SharedExtents;
import io.undercroft.format.internal.index.StrideArithmetic;
import io.undercroft.format.internal.index.ExtentAlignment;
import io.undercroft.format.internal.index.StrictUtf8;
import io.undercroft.format.internal.index.TreeRules;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;

/// Builds an index with canonical bytes: the same calls give the same index.
///
/// Everything is numbered from 0 in the order in which it is added. A storage consists of the extents added since the
/// storage before it. Values that a reader would refuse are refused with [IllegalArgumentException]; only offsets in
/// the file are not checked.
///
/// Records are kept in their encoding, off the heap, so a builder of many tensors takes hardly more memory than their
/// index. For use by one thread.
public final class IndexBuilder {
    private final int chunkLog2;
    /// The element types and strings with their numbers, in the order of these.
    private final Map<DTypeRecord, Integer> dtypes = new LinkedHashMap<>();
    private final Map<String, Integer> strings = new LinkedHashMap<>();
    private final List<Integer> bitsOfDTypes = new ArrayList<>();
    private final RecordTable extents = new RecordTable(ExtentFields.RECORD);
    private final RecordTable codings = new RecordTable(CodingFields.RECORD);
    private final RecordTable storages = new RecordTable(StorageFields.RECORD);
    private final RecordTable tensors = new RecordTable(TensorFields.RECORD);
    private final RecordTable dims = new RecordTable(DimFields.RECORD);
    /// The offsets in DIMS of the sizes and strides of tensors, by these numbers: each sequence is stored once.
    private final SortedMap<long[], Integer> dimPlaces = new TreeMap<>(Arrays::compare);
    private final NameTable names = new NameTable();
    private final List<BaseRecord> bases = new ArrayList<>();
    private final BitSet namedBases = new BitSet();
    private final List<FreeRange> freeRanges = new ArrayList<>();
    private final SortedMap<String, UnknownSection> unknownSections = new TreeMap<>();
    private final SortedMap<byte[], String> metadata = new TreeMap<>(Arrays::compareUnsigned);
    private byte[] tree = nullTree();
    private long ownedExtents;

    /// Creates a builder of an empty index.
    ///
    /// @param chunkLog2 the logarithm of the file's chunk size in bytes, from 16 to 30
    public IndexBuilder(int chunkLog2) {
        this.chunkLog2 = Header.checkChunkLog2(chunkLog2);
    }

    /// Adds an element type, unless it was added before.
    ///
    /// @param dtype the element type
    /// @return its number
    /// @throws IllegalArgumentException if readers would refuse it, or there are too many
    public int addDType(DTypeRecord dtype) {
        utf8(dtype.name());
        if (dtype.bits() <= 0) {
            throw new IllegalArgumentException(dtype + " has no possible size");
        }
        int number = numberOf(dtype, dtypes);
        if (number == bitsOfDTypes.size()) {
            bitsOfDTypes.add(dtype.bits());
        }
        if (number >= Limits.MAX_DTYPES) {
            throw tooMuch(number + 1 + " element types", Limits.MAX_DTYPES);
        }
        return number;
    }

    /// Adds bytes that are in the file to the next storage.
    ///
    /// @param fileOffset their offset, see [FileLayout#placeExtent]
    /// @param length their number, from 1 to the size of a chunk
    /// @param sums the sums over all of them
    /// @throws IllegalArgumentException if there are none, or more than a chunk has
    public void addRawExtent(long fileOffset, long length, ExtentSums sums) {
        addStored(ExtentKind.RAW, ExtentRecord.THIS_FILE, fileOffset, length, sums);
    }

    /// Adds bytes that are in another file to the next storage.
    ///
    /// @param base the number of that file, from [#addBase]
    /// @param fileOffset their offset in that file; in a `.croft` file see [FileLayout#placeExtent]
    /// @param length their number, from 1 to the size of a chunk
    /// @param sums the sums over all of them
    /// @throws IllegalArgumentException if there are none, or more than a chunk has
    public void addBaseExtent(int base, long fileOffset, long length, ExtentSums sums) {
        BaseRecord file = bases.get(checkNumber(base - 1, bases.size(), "base"));
        checkInBase(base, fileOffset, length);
        addStored(file.kind() == BaseKind.CROFT ? ExtentKind.RAW : ExtentKind.FOREIGN, base, fileOffset, length, sums);
    }

    /// Adds bytes that are stored coded to the next storage.
    ///
    /// @param base the number of the `.croft` file that has the coded bytes: 0, or from [#addBase]
    /// @param fileOffset the offset of the coded bytes in that file
    /// @param length the number of bytes that they are decoded to, from 1 to the size of a chunk
    /// @param sums the sums over the decoded bytes
    /// @param coding the way in which they are coded
    /// @throws IllegalArgumentException if readers would refuse it
    public void addCodedExtent(int base, long fileOffset, long length, ExtentSums sums, Coding coding) {
        boolean isInCroft = base == ExtentRecord.THIS_FILE
                || bases.get(checkNumber(base - 1, bases.size(), "base")).kind() == BaseKind.CROFT;
        if (!isInCroft || !coding.fits(length)) {
            throw new IllegalArgumentException(length + " bytes cannot be stored as " + coding);
        }
        checkInBase(base, fileOffset, coding.length());
        checkInBase(coding.referenceBase(), coding.referenceOffset(), length);
        addStored(ExtentKind.CODED, base, fileOffset, length, sums);
        coding.write(extents.count() - 1, codings.append());
    }

    private void checkInBase(int base, long fileOffset, long length) {
        if (base > 0) {
            BaseRecord file = bases.get(checkNumber(base - 1, bases.size(), "base"));
            if (fileOffset < 0 || fileOffset > file.length() - length) {
                throw new IllegalArgumentException(length + " bytes from " + fileOffset + " on are not in " + file);
            }
            namedBases.set(base);
        }
    }

    private void addStored(ExtentKind kind, int base, long fileOffset, long length, ExtentSums sums) {
        if (length < 1 || length > 1L << chunkLog2) {
            throw new IllegalArgumentException(
                    "an extent of " + length + " bytes; one that is no zeros has 1 to " + (1L << chunkLog2));
        }
        addExtent(new ExtentRecord(kind, false, base, fileOffset, length, sums, null));
    }

    private void addExtent(ExtentRecord extent) {
        MemorySegment record = extents.append();
        ExtentFields.KIND.put(record, 0, extent.kind().code());
        ExtentFields.BASE.put(record, 0, extent.base());
        ExtentFields.CRC.put(record, 0, extent.sums().checksum());
        ExtentFields.OFFSET.put(record, 0, extent.fileOffset());
        ExtentFields.LENGTH.put(record, 0, extent.length());
        ExtentFields.DIGEST.put(record, 0, extent.digest());
    }

    /// Adds another file that extents may reference. One that no extent names is left out of the index, and
    /// the ones after it get smaller numbers there.
    ///
    /// @param base the file
    /// @return its number, from 1
    /// @throws IllegalArgumentException if it is there already, or readers would refuse it
    public int addBase(BaseRecord base) {
        utf8(base.path());
        if (!BaseRecord.isPath(base.path()) || !base.isWellFormed() || base.depth() < 0
                || base.depth() > Limits.DEFAULT.maxBaseDepth()
                || bases.stream().anyMatch(other -> other.identity().equals(base.identity()))) {
            throw new IllegalArgumentException(
                    "the file " + FormatException.quote(base.path()) + " cannot be a base, or is one already");
        }
        if (bases.size() == Limits.DEFAULT.maxBases()) {
            throw tooMuch(bases.size() + 1 + " bases", Limits.DEFAULT.maxBases());
        }
        bases.add(base);
        return bases.size();
    }

    /// Declares a range of the file free.
    ///
    /// @param range a range after all those added before, and not adjacent to them
    /// @throws IllegalArgumentException if it is not
    public void addFreeRange(FreeRange range) {
        long end = freeRanges.isEmpty() ? -1 : freeRanges.getLast().offset() + freeRanges.getLast().length();
        if (range.length() < 1 || range.offset() <= end) {
            throw new IllegalArgumentException(range + " is empty, or not after those before it");
        }
        freeRanges.add(range);
    }

    /// Adds zeros that take no space in the file to the next storage.
    ///
    /// @param length their number, at least 1
    public void addZeroExtent(long length) {
        if (length < 1) {
            throw new IllegalArgumentException("an extent of " + length + " bytes");
        }
        addExtent(ExtentRecord.zeros(length));
    }

    /// Adds a storage made of the extents added since the storage before it.
    ///
    /// @param device its device, in PyTorch's notation
    /// @return its number
    /// @throws IllegalArgumentException if its extents are not aligned as its size requires
    public int addStorage(String device) {
        if (!strings.containsKey(device)) {
            utf8(device);
        }
        long nbytes = 0;
        for (long extent = ownedExtents; extent < extents.count(); extent++) {
            nbytes = Math.addExact(nbytes, extents.get(extent, ExtentFields.LENGTH));
        }
        if (nbytes > StrideArithmetic.MAX_NBYTES) {
            throw new IllegalArgumentException("a storage of " + nbytes + " bytes is past 2^60-1");
        }
        checkShape(nbytes);
        int firstExtent = Math.toIntExact(ownedExtents);
        MemorySegment record = storages.append();
        StorageFields.NBYTES.put(record, 0, nbytes);
        StorageFields.FIRST_EXTENT.put(record, 0, firstExtent);
        StorageFields.DEVICE.put(record, 0, numberOf(device, strings));
        ownedExtents = extents.count();
        return Math.toIntExact(storages.count() - 1);
    }

    private void checkShape(long nbytes) {
        ExtentAlignment shape = new ExtentAlignment(nbytes, chunkLog2);
        long position = 0;
        for (long extent = ownedExtents; extent < extents.count(); extent++) {
            long offset = extents.get(extent, ExtentFields.OFFSET);
            long length = extents.get(extent, ExtentFields.LENGTH);
            if (!shape.accepts(ExtentKind.of(extents.getInt(extent, ExtentFields.KIND)), position, offset, length)) {
                throw new IllegalArgumentException("an extent of " + length + " bytes at " + offset
                        + ", byte " + position + " of its storage, is not aligned to "
                        + FileLayout.alignment(nbytes, chunkLog2));
            }
            position += length;
        }
    }

    /// Adds a tensor without a name.
    ///
    /// @param tensor a window on a storage added before
    /// @return its number
    /// @throws IllegalArgumentException if it reaches outside its storage
    public int addTensor(TensorRecord tensor) {
        int bits = bitsOfDTypes.get(checkNumber(tensor.dtype(), dtypes.size(), "dtype"));
        long nbytes = storages.get(checkNumber(tensor.storage(), storages.count(), "storage"), StorageFields.NBYTES);
        long[] shape = tensor.shape();
        long[] stride = tensor.stride();
        if (shape.length > Limits.DEFAULT.maxRank() || !StrideArithmetic.isCountable(shape)
                || !StrideArithmetic.fits(shape, stride, bits, tensor.byteOffset(), tensor.bitOffset(), nbytes)) {
            throw new IllegalArgumentException(tensor + " does not fit into a storage of " + nbytes + " bytes");
        }
        checkSpace(tensors.count(), "tensors");
        int firstDim = shape.length == 0 ? 0 : addDims(shape, stride);
        MemorySegment record = tensors.append();
        TensorFields.DTYPE.put(record, 0, tensor.dtype());
        TensorFields.RANK.put(record, 0, shape.length);
        TensorFields.FLAGS.put(record, 0, flags(tensor) | tensor.bitOffset() << Index.BIT_OFFSET);
        TensorFields.STORAGE.put(record, 0, tensor.storage());
        TensorFields.BYTE_OFFSET.put(record, 0, tensor.byteOffset());
        TensorFields.FIRST_DIM.put(record, 0, firstDim);
        TensorFields.NAME.put(record, 0, Index.NONE);
        return (int) tensors.count() - 1;
    }

    private static int flags(TensorRecord tensor) {
        int bits = 0;
        for (TensorFlag flag : tensor.flags()) {
            bits |= flag.bit();
        }
        return bits;
    }

    /// Adds sizes and strides, unless an earlier tensor has the same. Returns the number of the first size in DIMS.
    private int addDims(long[] shape, long[] stride) {
        long[] both = Arrays.copyOf(shape, 2 * shape.length);
        System.arraycopy(stride, 0, both, shape.length, shape.length);
        int first = Math.toIntExact(dims.count());
        Integer before = dimPlaces.putIfAbsent(both, first);
        if (before != null) {
            return before;
        }
        for (long dim : both) {
            DimFields.DIM.put(dims.append(), 0, dim);
        }
        return first;
    }

    /// Names a tensor. A tensor may have several names; the first is shown. Names
    /// that two tensors have are refused when the index is built.
    ///
    /// @param name may be empty; at most 4096 bytes in UTF-8
    /// @param tensor the number of a tensor added before
    /// @throws IllegalArgumentException if the name cannot be written, or there are too many
    public void addName(String name, int tensor) {
        checkNumber(tensor, tensors.count(), "tensor");
        checkSpace(names.count(), "names");
        int number = names.add(utf8(name), tensor);
        if (tensors.get(tensor, TensorFields.NAME) == Index.NONE) {
            tensors.put(tensor, TensorFields.NAME, number);
        }
    }

    private static void checkSpace(long count, String what) {
        if (count >= Limits.DEFAULT.maxTensors()) {
            throw tooMuch(count + 1 + " " + what, Limits.DEFAULT.maxTensors());
        }
    }

    /// Adds a section whose meaning only the caller, or a later version, defines.
    ///
    /// @param section the section; sections are in the order of their codes
    /// @throws IllegalArgumentException if there is one with its code
    public void addUnknownSection(UnknownSection section) {
        if (unknownSections.putIfAbsent(section.code(), section) != null) {
            throw new IllegalArgumentException("there is a section " + FormatException.quote(section.code()));
        }
    }

    /// Sets the state tree; it is NULL until then.
    ///
    /// @param tree from [StateTreeWriter#toByteArray]; what it names must be there when the index is built
    public void setTree(byte[] tree) {
        this.tree = tree.clone();
    }

    /// Adds an entry to the metadata, or replaces it.
    ///
    /// @param key its key; entries are sorted by it
    /// @param value its value
    public void putMetadata(String key, String value) {
        StrictUtf8.encode(value);
        metadata.put(StrictUtf8.encode(key), value);
    }

    /// Writes the index. The builder is not changed and can be used further.
    ///
    /// @param sequence the number of the commit that will point to it, from 1
    /// @return the index, to be written at a multiple of 64, valid as long as it is referenced
    /// @throws IllegalStateException if extents were added after the last storage, or if the state tree is malformed or
    ///     names what is not there
    /// @throws IllegalArgumentException if two tensors have one name, or the index exceeds [Limits#DEFAULT], so that
    ///     readers would refuse it
    public MemorySegment build(long sequence) {
        if (ownedExtents != extents.count()) {
            throw new IllegalStateException("extents were added, but not their storage");
        }
        checkTree();
        return new Encoder().encode(sequence);
    }

    private static IllegalArgumentException tooMuch(String what, long limit) {
        return new IllegalArgumentException(what + " cannot be saved: readers accept " + limit);
    }

    private void checkTree() {
        StateTreeReader reader = new StateTreeReader(MemorySegment.ofArray(tree), Limits.DEFAULT, 0);
        try {
            TreeRules.checkState(reader, tensors.count(), storages.count(), dtypes.size());
        } catch (FormatException e) {
            throw new IllegalStateException("the state tree does not fit the index: " + e.what(), e);
        }
    }

    private byte[] metadataTree() {
        StateTreeWriter writer = new StateTreeWriter();
        writer.openMap(metadata.size());
        metadata.forEach((key, value) -> {
            writer.writeString(new String(key, StandardCharsets.UTF_8));
            writer.writeString(value);
        });
        return writer.toByteArray();
    }

    private static byte[] nullTree() {
        StateTreeWriter writer = new StateTreeWriter();
        writer.writeNull();
        return writer.toByteArray();
    }

    private static int checkNumber(int number, long count, String what) {
        if (number < 0 || number >= count) {
            throw new IllegalArgumentException("there is no " + what + " " + number + " of " + count);
        }
        return number;
    }

    private static byte[] utf8(String text) {
        byte[] utf8 = StrictUtf8.encode(text);
        if (utf8.length > Limits.DEFAULT.maxNameBytes()) {
            throw new IllegalArgumentException("the name " + FormatException.quote(text) + " has " + utf8.length
                    + " bytes, the limit is " + Limits.DEFAULT.maxNameBytes());
        }
        return utf8;
    }

    /// {@return the number of a value, counted in the order in which different values come}
    private static <T> int numberOf(T value, Map<T, Integer> numbers) {
        Integer number = numbers.putIfAbsent(value, numbers.size());
        return number == null ? numbers.size() - 1 : number;
    }

    /// Writes an index section by section, in canonical order. Most records are copied as they were collected. Names
    /// are written now, as they had to be sorted, and so are all references to texts, since texts are in the order of
    /// their tables, except names that are in the state tree already.
    private final class Encoder {
        private final List<byte[]> dtypeNames;
        private final MemorySegment treeBytes;
        private final MemorySegment metadataBytes;
        private final List<byte[]> stringTexts;
        private final List<byte[]> paths;
        private final BaseNumbers baseNumbers;
        private final List<BaseRecord> keptBases;
        private final int[] sortedNames;
        private final int[] nameRanks;
        private final int[] namesInTree;

        /// Sorts the names.
        ///
        /// @throws IllegalArgumentException if two of them are equal
        Encoder() {
            this.dtypeNames = dtypes.keySet().stream().map(dtype -> StrictUtf8.encode(dtype.name())).toList();
            this.stringTexts = strings.keySet().stream().map(StrictUtf8::encode).toList();
            this.treeBytes = MemorySegment.ofArray(tree);
            this.metadataBytes = MemorySegment.ofArray(metadataTree());
            this.baseNumbers = new BaseNumbers(namedBases);
            this.keptBases = Arrays.stream(baseNumbers.kept()).mapToObj(bases::get).toList();
            this.paths = keptBases.stream().map(base -> StrictUtf8.encode(base.path())).toList();
            this.sortedNames = names.sorted();
            this.nameRanks = NameTable.ranks(sortedNames);
            this.namesInTree = namesInTree();
        }

        MemorySegment encode(long sequence) {
            List<Section> known = Stream.of(SectionType.values()).filter(type -> type != SectionType.ISUM)
                    .map(this::section).toList();
            List<Section> unknown = unknownSections.values().stream().map(Section::of).toList();
            return IndexAssembler.assemble(known, unknown, sequence);
        }

        private Section section(SectionType type) {
            return Section.of(type, count(type), bytes -> write(type, bytes));
        }

        private long count(SectionType type) {
            return switch (type) {
                case EXTN -> extents.count();
                case STOR -> storages.count();
                case TENS -> tensors.count();
                case DIMS -> dims.count();
                case NAMS -> names.count();
                case STRS -> stringTexts.size();
                case DTYP -> dtypes.size();
                case STRB -> firstPath() + length(paths);
                case TREE -> treeBytes.byteSize();
                case META -> metadataBytes.byteSize();
                case BASE -> paths.size();
                case FREE -> freeRanges.size();
                case CODE -> codings.count();
                case ISUM -> 0;
            };
        }

        private void write(SectionType type, MemorySegment section) {
            switch (type) {
                case EXTN -> {
                    extents.copyTo(section);
                    baseNumbers.apply(section, type.recordSize(), ExtentFields.BASE);
                    SharedExtents.flag(section, type.recordSize());
                }
                case STOR -> storages.copyTo(section);
                case TENS -> writeTensors(section);
                case DIMS -> dims.copyTo(section);
                case NAMS ->
                    names.writeRecords(section, sortedNames, firstName(), count(SectionType.STRB), namesInTree);
                case STRS -> writeTextPlaces(section, StringFields.RECORD, stringTexts, firstString());
                case DTYP -> writeDTypes(section);
                case STRB -> writeTexts(section);
                case TREE -> section.copyFrom(treeBytes);
                case META -> section.copyFrom(metadataBytes);
                case BASE -> writeBases(section);
                case FREE -> writeFreeRanges(section);
                case CODE -> {
                    codings.copyTo(section);
                    baseNumbers.apply(section, type.recordSize(), CodingFields.REFERENCE_BASE);
                }
                case ISUM ->
                    throw new AssertionError("the checksums of blocks are made when the index is put together");
            }
        }

        private void writeTensors(MemorySegment section) {
            tensors.copyTo(section);
            for (long tensor = 0; tensor < tensors.count(); tensor++) {
                long name = tensors.get(tensor, TensorFields.NAME);
                if (name != Index.NONE) {
                    TensorFields.NAME.put(section, tensor * TensorFields.RECORD.size(), nameRanks[(int) name]);
                }
            }
        }

        /// Writes the first two fields of each record of a section.
        private static void writeTextPlaces(MemorySegment section, RecordLayout record, List<byte[]> texts,
                long first) {
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
            writeTextPlaces(section, DTypeFields.RECORD, dtypeNames, 0);
            long at = 0;
            for (DTypeRecord dtype : dtypes.keySet()) {
                DTypeFields.BITS.put(section, at, dtype.bits());
                DTypeFields.ELEMENTS.put(section, at, 1);
                at += DTypeFields.RECORD.size();
            }
        }

        private void writeBases(MemorySegment section) {
            writeTextPlaces(section, BaseFields.RECORD, paths, firstPath());
            long at = 0;
            for (BaseRecord base : keptBases) {
                BaseFields.KIND.put(section, at, base.kind().code());
                BaseFields.DEPTH.put(section, at, base.depth());
                BaseFields.UUID.put(section, at, base.uuid());
                BaseFields.DIGEST.put(section, at, base.digest());
                BaseFields.LENGTH.put(section, at, base.length());
                BaseFields.SEQUENCE.put(section, at, base.sequence());
                at += BaseFields.RECORD.size();
            }
        }

        private void writeFreeRanges(MemorySegment section) {
            long at = 0;
            for (FreeRange range : freeRanges) {
                FreeRangeFields.OFFSET.put(section, at, range.offset());
                FreeRangeFields.LENGTH.put(section, at, range.length());
                at += FreeRangeFields.RECORD.size();
            }
        }

        private void writeTexts(MemorySegment section) {
            copyTexts(dtypeNames, section, 0);
            copyTexts(stringTexts, section, firstString());
            names.copyTexts(sortedNames, section, firstName(), namesInTree);
            copyTexts(paths, section, firstPath());
        }

        private static void copyTexts(List<byte[]> texts, MemorySegment section, long first) {
            long at = first;
            for (byte[] text : texts) {
                MemorySegment.copy(MemorySegment.ofArray(text), 0, section, at, text.length);
                at += text.length;
            }
        }

        /// Finds the names whose text is in the state tree, so that STRB need not repeat it: in a flat map of tensors,
        /// the key of a tensor is its name. Such a name is the last STRING before the TENSOR that it names.
        ///
        /// @return for each name where its text is in the tree, the first such place, or [NameTable#IN_STRB]
        private int[] namesInTree() {
            int[] places = new int[(int) names.count()];
            Arrays.fill(places, NameTable.IN_STRB);
            StateTreeReader reader = new StateTreeReader(treeBytes, Limits.DEFAULT, 0);
            MemorySegment text = MemorySegment.NULL;
            long end = 0;
            for (StateToken token = reader.next(); token != StateToken.DONE; token = reader.next()) {
                if (token == StateToken.STRING) {
                    text = reader.bytes();
                    end = reader.end();
                } else if (token == StateToken.TENSOR && end > 0) {
                    int name = tensors.getInt(reader.index(), TensorFields.NAME);
                    if (name >= 0 && places[name] == NameTable.IN_STRB && names.isText(name, text)) {
                        places[name] = (int) (end - text.byteSize());
                    }
                }
            }
            return places;
        }

        private long firstString() {
            return length(dtypeNames);
        }

        private long firstName() {
            return firstString() + length(stringTexts);
        }

        private long firstPath() {
            return firstName() + names.textLength(namesInTree);
        }

        private static long length(List<byte[]> texts) {
            return texts.stream().mapToLong(text -> text.length).sum();
        }
    }
}
