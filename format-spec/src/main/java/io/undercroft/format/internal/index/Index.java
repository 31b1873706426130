package io.undercroft.format.internal.index;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseKind;
import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.Checksums;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.Coding;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.ExtentSums;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.StorageRecord;
import io.undercroft.format.internal.StoredExtents;
import io.undercroft.format.internal.TensorFlag;
import io.undercroft.format.internal.TensorRecord;
import io.undercroft.format.internal.UnknownSection;
import io.undercroft.format.internal.index.Records.BaseFields;
import io.undercroft.format.internal.index.Records.DimFields;
import io.undercroft.format.internal.index.Records.DTypeFields;
import io.undercroft.format.internal.index.Records.SectionFields;
import io.undercroft.format.internal.index.Records.CodingFields;
import io.undercroft.format.internal.index.Records.ExtentFields;
import io.undercroft.format.internal.index.Records.FreeRangeFields;
import io.undercroft.format.internal.index.Records.DirectoryFields;
import io.undercroft.format.internal.index.Records.NameFields;
import io.undercroft.format.internal.index.Records.StorageFields;
import io.undercroft.format.internal.index.Records.TensorFields;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/// The tables of an index, read in place: nothing is decoded before a record is read.
///
/// [#parse] checks the directory, and the checksums of either all sections or the checksums of all blocks. In the
/// latter case each block is checked when [#at] or another accessor first needs it. [RecordRules] checks what a record
/// contains; only then are the accessors of the record safe.
public final class Index {
    /// The size of the directory's head in bytes.
    public static final int HEAD_BYTES = DirectoryFields.RECORD.size();
    /// The size of one directory entry in bytes.
    public static final int ENTRY_BYTES = SectionFields.RECORD.size();
    /// `CIDX`.
    public static final int SIGNATURE = 0x5844_4943;
    /// The entry flag of a section without which the index cannot be understood.
    public static final int CRITICAL = 1;
    /// The entry flag of a section that may be copied by a writer that does not understand it.
    public static final int SAFE_TO_COPY = 2;
    /// Represents "no name".
    public static final long NONE = 0xFFFF_FFFFL;

    /// The bits of the field of tensor flags that are no flags but the offset of the first element in its byte start
    /// here.
    public static final int BIT_OFFSET = 4;
    static final int ALL_TENSOR_FLAGS = 0x7F;
    /// The extent flag of bytes that another extent of the snapshot is too.
    public static final int SHARED = 1;

    private static final TensorFlag[] TENSOR_FLAGS = TensorFlag.values();

    private final MemorySegment bytes;
    private final long fileOffset;
    /// Each at the [place][#place] of its type; null for one that is missing. Not a map of enums, which would find the
    /// constants by reflection: that is milliseconds of the first open.
    private final @Nullable Table[] sections = new Table[SectionType.values().length];
    private final Set<Integer> codes = new HashSet<>();
    private @Nullable BlockSums blocks;

    private record Table(long start, long count, int recordSize) {
        /// A section that need not be there, and is not.
        static final Table MISSING = new Table(0, 0, 0);
    }

    private Index(MemorySegment bytes, long fileOffset) {
        this.bytes = bytes;
        this.fileOffset = fileOffset;
    }

    /// Checks the directory, and all that a reader must know before it uses the first record: the checksums of the
    /// sections, or of section ISUM if there is one. With ISUM it touches no other section.
    ///
    /// @param bytes the whole index
    /// @param commit the record that points to it
    /// @param limits the limits that the file must not exceed
    /// @return the index, its records not yet checked
    /// @throws FormatException by rule V14 if it is not what was committed; otherwise if the directory breaks a rule
    public static Index parse(MemorySegment bytes, CommitRecord commit, Limits limits) {
        Index index = new Index(bytes, commit.indexOffset());
        index.checkDirectory(commit, limits);
        index.readSections(limits);
        return index;
    }

    private void checkDirectory(CommitRecord commit, Limits limits) {
        if (bytes.byteSize() < HEAD_BYTES
                || HEAD_BYTES + ENTRY_BYTES * DirectoryFields.SECTIONS.get(bytes, 0) > bytes.byteSize()
                || !Digest128.of(Records.directory(bytes)).equals(commit.directoryDigest())) {
            throw Rule.V14_CHECKSUM.broken("the digest of the index directory does not match", fileOffset);
        }
        MemorySegment directory = Records.directory(bytes);
        if (DirectoryFields.SIGNATURE.getInt(directory, 0) != SIGNATURE
                || DirectoryFields.LENGTH.get(directory, 0) != bytes.byteSize()
                || DirectoryFields.SEQUENCE.get(directory, 0) != commit.sequence()
                || DirectoryFields.CRC.getInt(directory, 0) != directoryChecksum(directory)) {
            throw Rule.V15_STRUCTURE.broken("the head of the index directory contradicts its commit record",
                    fileOffset);
        }
        DirectoryFields.RESERVED.requireZero(directory, 0, fileOffset, "the index directory");
        long count = DirectoryFields.SECTIONS.get(directory, 0);
        if (count > limits.maxSections()) {
            throw Rule.V8_LIMIT.broken("the index has " + count + " sections, the limit is " + limits.maxSections(),
                    fileOffset + DirectoryFields.SECTIONS.offset());
        }
    }

    /// {@return the CRC32C of a directory, in which its own field counts as zero}
    public static int directoryChecksum(MemorySegment directory) {
        CRC32C crc = new CRC32C();
        crc.update(directory.asSlice(0, DirectoryFields.CRC.offset()).asByteBuffer());
        crc.update(new byte[DirectoryFields.CRC.size()]);
        crc.update(directory.asSlice(DirectoryFields.CRC.end()).asByteBuffer());
        return (int) crc.getValue();
    }

    private void readSections(Limits limits) {
        long end = Records.directory(bytes).byteSize();
        long count = DirectoryFields.SECTIONS.get(bytes, 0);
        for (long entry = 0; entry < count; entry++) {
            end = readSection(HEAD_BYTES + ENTRY_BYTES * entry, end, limits);
        }
        for (SectionType type : SectionType.values()) {
            if (type.isRequired() && sections[place(type)] == null) {
                throw Rule.V15_STRUCTURE.broken("the index has no " + type + " section", fileOffset);
            }
        }
        readBlocks(limits);
    }

    /// Makes use of section ISUM; without it, checks all there is at once, and that this is not too much.
    private void readBlocks(Limits limits) {
        Table sums = sections[place(SectionType.ISUM)];
        if (sums == null) {
            if (bytes.byteSize() > limits.maxIndexBytes()) {
                throw tooLarge(bytes.byteSize(), limits.maxIndexBytes(), fileOffset);
            }
            checkSections();
            return;
        }
        long directory = Records.directory(bytes).byteSize();
        boolean last = SectionFields.SECTION.getInt(bytes, directory - ENTRY_BYTES) == SectionType.ISUM.code();
        if (!last || sums.count() != BlockSums.count(sums.start())) {
            throw Rule.V15_STRUCTURE.broken("section ISUM is not the last one, or not of all blocks before it",
                    fileOffset + sums.start());
        }
        checkSection(directory - ENTRY_BYTES);
        blocks = new BlockSums(bytes, directory, sums.start(), fileOffset);
    }

    /// Checks the checksum of each section, including those unknown to this version.
    void checkSections() {
        for (long entry = HEAD_BYTES; entry < Records.directory(bytes).byteSize(); entry += ENTRY_BYTES) {
            checkSection(entry);
        }
    }

    private void checkSection(long entry) {
        long start = SectionFields.OFFSET.get(bytes, entry);
        long length = SectionFields.LENGTH.get(bytes, entry);
        if (Checksums.crc32c(bytes.asSlice(start, length)) != SectionFields.CRC.getInt(bytes, entry)) {
            throw Rule.V14_CHECKSUM.broken("the checksum of section " + name(entry) + " does not match",
                    fileOffset + start);
        }
    }

    /// Checks that the bytes between the sections, and after the last one, are zero.
    void checkPadding() {
        long end = Records.directory(bytes).byteSize();
        for (long entry = HEAD_BYTES; entry < Records.directory(bytes).byteSize(); entry += ENTRY_BYTES) {
            long start = SectionFields.OFFSET.get(bytes, entry);
            LittleEndian.requireZero(bytes, end, start, fileOffset, "the index's padding");
            end = start + SectionFields.LENGTH.get(bytes, entry);
        }
        LittleEndian.requireZero(bytes, end, bytes.byteSize(), fileOffset, "the index's padding");
    }

    /// {@return the number of blocks with a checksum: 0 in an index that was checked in one piece}
    public long blockCount() {
        return blocks == null ? 0 : blocks.count();
    }

    /// Checks a block once more.
    ///
    /// @param number its number, below [#blockCount]
    /// @throws FormatException if its checksum does not match
    public void checkBlock(long number) {
        if (blocks != null) {
            blocks.check(number);
        }
    }

    /// {@return the problem of an index of this size}
    public static FormatException tooLarge(long length, long limit, long fileOffset) {
        return Rule.V8_LIMIT.broken("the index has " + length + " bytes, the limit is " + limit, fileOffset);
    }

    /// {@return whether a directory, which may be a hostile one or only its beginning, has an entry for block
    /// checksums}
    public static boolean claimsBlocks(MemorySegment directory) {
        for (long entry = HEAD_BYTES; entry + ENTRY_BYTES <= directory.byteSize(); entry += ENTRY_BYTES) {
            if (SectionFields.SECTION.getInt(directory, entry) == SectionType.ISUM.code()) {
                return true;
            }
        }
        return false;
    }

    /// Reads the entry at `entry`; the section before ended at `end`.
    private long readSection(long entry, long end, Limits limits) {
        long start = SectionFields.OFFSET.u64(bytes, entry, fileOffset);
        long length = SectionFields.LENGTH.u64(bytes, entry, fileOffset);
        if (start < end || start % FileLayout.SECTION_ALIGNMENT != 0 || start > bytes.byteSize()
                || length > bytes.byteSize() - start) {
            throw Rule.V2_RANGE.broken("a section of " + length + " bytes cannot be at byte " + start
                    + " of the index", fileOffset + entry + SectionFields.OFFSET.offset());
        }
        SectionFields.RESERVED.requireZero(bytes, entry, fileOffset, "a section's entry");
        readKnown(entry, start, length, limits);
        return start + length;
    }

    private void readKnown(long entry, long start, long length, Limits limits) {
        long flags = SectionFields.FLAGS.get(bytes, entry);
        if ((flags & ~(CRITICAL | SAFE_TO_COPY)) != 0) {
            throw Rule.V9_RESERVED.broken("section " + name(entry) + " has unknown flags",
                    fileOffset + entry + SectionFields.FLAGS.offset());
        }
        long count = SectionFields.COUNT.u64(bytes, entry, fileOffset);
        long recordSize = SectionFields.RECORD_SIZE.get(bytes, entry);
        SectionType type = SectionType.of(SectionFields.SECTION.getInt(bytes, entry));
        checkTable(entry, type, count, recordSize, length);
        if (type != null) {
            checkCount(type, count, limits, fileOffset + entry);
            sections[place(type)] = new Table(start, count, (int) recordSize);
        } else if ((flags & CRITICAL) != 0) {
            throw Rule.V13_UNSUPPORTED.broken("the index has the unknown section " + name(entry),
                    fileOffset + entry);
        }
    }

    private void checkTable(long entry, @Nullable SectionType type, long count, long recordSize, long length) {
        if (!codes.add(SectionFields.SECTION.getInt(bytes, entry))) {
            throw Rule.V15_STRUCTURE.broken("the index has two sections " + name(entry), fileOffset + entry);
        }
        if (!isPossible(type, recordSize) || count != length / recordSize || length % recordSize != 0) {
            throw Rule.V15_STRUCTURE.broken("section " + name(entry) + " of " + length + " bytes cannot have " + count
                    + " records of " + recordSize + " bytes", fileOffset + entry);
        }
    }

    private static boolean isPossible(@Nullable SectionType type, long recordSize) {
        if (type == null) {
            return recordSize > 0;
        }
        return type.isWidenable() ? recordSize >= type.recordSize() : recordSize == type.recordSize();
    }

    private static void checkCount(SectionType type, long count, Limits limits, long where) {
        long most = switch (type) {
            case TENS, NAMS -> limits.maxTensors();
            case BASE -> limits.maxBases();
            case DTYP -> Limits.MAX_DTYPES;
            case EXTN, STOR, STRS, FREE, CODE -> Integer.MAX_VALUE;
            case DIMS, STRB, TREE, META, ISUM -> Long.MAX_VALUE;
        };
        if (count > most) {
            throw Rule.V8_LIMIT.broken("section " + type + " has " + count + " records, the limit is " + most, where);
        }
    }

    private String name(long entry) {
        return FormatException.quote(code(entry));
    }

    private String code(long entry) {
        return new String(bytes.asSlice(entry, SectionFields.SECTION.size()).toArray(ValueLayout.JAVA_BYTE),
                StandardCharsets.ISO_8859_1);
    }

    /// {@return all bytes of the index}
    public MemorySegment bytes() {
        return bytes;
    }

    /// {@return the number of records of a section}
    public long count(SectionType type) {
        return sectionOf(type).count();
    }

    /// {@return the offset in the index of a record with the bytes that were written}
    ///
    /// @throws FormatException by rule V14 if they are not
    long at(SectionType type, long number) {
        return intact(type, number, type.recordSize());
    }

    /// {@return whether there is a text}
    ///
    /// @param from its offset in STRB or, from the length of STRB on, in TREE
    /// @param length the number of bytes
    boolean hasText(long from, long length) {
        long strings = count(SectionType.STRB);
        long tree = count(SectionType.TREE);
        return from < strings
                ? length <= strings - from
                : from - strings <= tree && length <= tree - (from - strings);
    }

    /// {@return the offset in the index of a text with the bytes that were written}
    ///
    /// @param from its offset in STRB or, from the length of STRB on, in TREE
    /// @throws FormatException by rule V14 if they are not
    long text(long from, long length) {
        long strings = count(SectionType.STRB);
        return from < strings
                ? intact(SectionType.STRB, from, length)
                : intact(SectionType.TREE, from - strings, length);
    }

    private long intact(SectionType type, long number, long length) {
        long at = place(type, number);
        requireIntact(at, length);
        return at;
    }

    private void requireIntact(long at, long length) {
        if (blocks != null) {
            blocks.require(at, length);
        }
    }

    private long place(SectionType type, long number) {
        Table section = sectionOf(type);
        return section.start() + number * section.recordSize();
    }

    /// {@return the offset of a record in the file}
    public long fileOffset(SectionType type, long number) {
        return fileOffset + place(type, number);
    }

    /// {@return the offset of the index in the file}
    public long fileOffset() {
        return fileOffset;
    }

    /// {@return the size of a record of a section in bytes, which a newer minor version may have made wider}
    public int recordSize(SectionType type) {
        return sectionOf(type).recordSize();
    }

    /// {@return the sections unknown to this version, in the order of their entries}
    ///
    /// @throws FormatException by rule V14 if their bytes are not those that were written
    public List<UnknownSection> unknownSections() {
        List<UnknownSection> unknown = new ArrayList<>();
        for (long entry = HEAD_BYTES; entry < Records.directory(bytes).byteSize(); entry += ENTRY_BYTES) {
            if (SectionType.of(SectionFields.SECTION.getInt(bytes, entry)) == null) {
                unknown.add(unknownSection(entry));
            }
        }
        return List.copyOf(unknown);
    }

    private UnknownSection unknownSection(long entry) {
        long start = SectionFields.OFFSET.get(bytes, entry);
        long length = SectionFields.LENGTH.get(bytes, entry);
        requireIntact(start, length);
        return new UnknownSection(code(entry), (SectionFields.FLAGS.get(bytes, entry) & SAFE_TO_COPY) != 0,
                SectionFields.RECORD_SIZE.get(bytes, entry), bytes.asSlice(start, length));
    }

    /// {@return all bytes of a section}
    ///
    /// @throws FormatException by rule V14 if they are not those that were written
    public MemorySegment section(SectionType type) {
        Table section = sectionOf(type);
        long length = section.count() * section.recordSize();
        return bytes.asSlice(intact(type, 0, length), length);
    }

    /// {@return a number in a record of a section, as [Field#get] returns it}
    ///
    /// @throws FormatException by rule V14 if the bytes of the record are not those that were written
    long get(SectionType type, long number, Field field) {
        return field.get(bytes, at(type, number));
    }

    /// {@return the extent with this number}
    public ExtentRecord extent(int number) {
        long at = at(SectionType.EXTN, number);
        return new ExtentRecord(ExtentKind.of(ExtentFields.KIND.getInt(bytes, at)), isShared(number),
                ExtentFields.BASE.getInt(bytes, at), ExtentFields.OFFSET.get(bytes, at),
                ExtentFields.LENGTH.get(bytes, at),
                new ExtentSums(ExtentFields.CRC.getInt(bytes, at), ExtentFields.DIGEST.digest(bytes, at)),
                isCoded(number) ? coding(codingOf(number)) : null);
    }

    /// {@return the number of the record of CODE that has a coded extent, or -1 if none has} A binary search in place.
    ///
    /// @param extent the number of the extent
    public long codingOf(long extent) {
        // As many records are before it as there are coded extents before this one.
        long low = Math.max(extent - (count(SectionType.EXTN) - count(SectionType.CODE)), 0);
        long high = Math.min(extent, count(SectionType.CODE) - 1);
        while (low <= high) {
            long middle = (low + high) >>> 1;
            long found = get(SectionType.CODE, middle, CodingFields.EXTENT);
            if (found == extent) {
                return middle;
            }
            low = found < extent ? middle + 1 : low;
            high = found < extent ? high : middle - 1;
        }
        return -1;
    }

    /// {@return how an extent is coded, by the number of its record of CODE}
    Coding coding(long number) {
        long at = at(SectionType.CODE, number);
        return new Coding(CodingFields.CODEC.getInt(bytes, at), CodingFields.WIDTH.getInt(bytes, at),
                CodingFields.LENGTH.get(bytes, at), CodingFields.CRC.getInt(bytes, at),
                CodingFields.REFERENCE_BASE.getInt(bytes, at), CodingFields.REFERENCE_OFFSET.get(bytes, at));
    }

    /// {@return whether an extent is not stored as it is}
    boolean isCoded(long extent) {
        return get(SectionType.EXTN, extent, ExtentFields.KIND) == ExtentKind.CODED.code();
    }

    /// Passes on an extent, unless it is one of zeros.
    ///
    /// @param number its number
    /// @param receiver receives it
    public void passOn(int number, StoredExtents receiver) {
        long at = at(SectionType.EXTN, number);
        if (ExtentFields.KIND.get(bytes, at) != ExtentKind.ZERO.code()) {
            Digest128 digest = ExtentFields.DIGEST.digest(bytes, at);
            receiver.accept(digest.high(), digest.low(), ExtentFields.BASE.getInt(bytes, at),
                    ExtentFields.OFFSET.get(bytes, at), ExtentFields.LENGTH.get(bytes, at),
                    isCoded(number) ? coding(codingOf(number)) : null);
        }
    }

    /// {@return whether records are the same bytes as those with the same numbers in another index}
    ///
    /// @param type their section
    /// @param first the number of the first one
    /// @param count how many there are, in both
    /// @param other the other index
    public boolean hasSameRecords(SectionType type, long first, long count, Index other) {
        long size = recordSize(type);
        if (size != other.recordSize(type)) {
            return false;
        }
        return LittleEndian.haveSameBytes(bytes, intact(type, first, count * size), other.bytes,
                other.intact(type, first, count * size), count * size);
    }

    /// {@return whether an extent is flagged as the same bytes as another}
    boolean isShared(int extent) {
        return (get(SectionType.EXTN, extent, ExtentFields.FLAGS) & SHARED) != 0;
    }

    /// {@return the number of bytes of its file that an extent takes, 0 if it is one of zeros}
    long storedLength(int extent) {
        if (isCoded(extent)) {
            return get(SectionType.CODE, codingOf(extent), CodingFields.LENGTH);
        }
        long at = at(SectionType.EXTN, extent);
        return ExtentFields.KIND.get(bytes, at) == ExtentKind.ZERO.code() ? 0 : ExtentFields.LENGTH.get(bytes, at);
    }

    /// {@return the base with this number, counted from 0}
    public BaseRecord base(int number) {
        long at = at(SectionType.BASE, number);
        return new BaseRecord(BaseKind.of(BaseFields.KIND.getInt(bytes, at)), string(at),
                BaseFields.DEPTH.getInt(bytes, at),
                BaseFields.UUID.uuid(bytes, at), BaseFields.DIGEST.digest(bytes, at), BaseFields.LENGTH.get(bytes, at),
                BaseFields.SEQUENCE.get(bytes, at));
    }

    /// {@return the free range with this number}
    public FreeRange freeRange(int number) {
        long at = at(SectionType.FREE, number);
        return new FreeRange(FreeRangeFields.OFFSET.get(bytes, at), FreeRangeFields.LENGTH.get(bytes, at));
    }

    /// {@return the storage with this number}
    public StorageRecord storage(int number) {
        long at = at(SectionType.STOR, number);
        return new StorageRecord(StorageFields.NBYTES.get(bytes, at), StorageFields.FIRST_EXTENT.getInt(bytes, at),
                (int) (firstExtent(number + 1L) - firstExtent(number)),
                string(at(SectionType.STRS, StorageFields.DEVICE.get(bytes, at))));
    }

    /// {@return the number of the first extent of a storage; of all extents where the storage would be after the last}
    long firstExtent(long storage) {
        return storage == count(SectionType.STOR)
                ? count(SectionType.EXTN)
                : get(SectionType.STOR, storage, StorageFields.FIRST_EXTENT);
    }

    /// {@return the tensor with this number}
    public TensorRecord tensor(int number) {
        long at = at(SectionType.TENS, number);
        int rank = TensorFields.RANK.getInt(bytes, at);
        int flags = TensorFields.FLAGS.getInt(bytes, at);
        long firstDim = TensorFields.FIRST_DIM.get(bytes, at);
        return new TensorRecord(TensorFields.DTYPE.getInt(bytes, at), TensorFields.STORAGE.getInt(bytes, at),
                TensorFields.BYTE_OFFSET.get(bytes, at), flags >> BIT_OFFSET, flags(flags), dims(firstDim, rank),
                dims(firstDim + rank, rank));
    }

    private static Set<TensorFlag> flags(int bits) {
        if (bits == 0) {
            return Set.of();
        }
        Set<TensorFlag> flags = EnumSet.noneOf(TensorFlag.class);
        for (TensorFlag flag : TENSOR_FLAGS) {
            if ((bits & flag.bit()) != 0) {
                flags.add(flag);
            }
        }
        return flags;
    }

    /// {@return sizes or strides of a tensor}
    long[] dims(long first, int rank) {
        long[] dims = new long[rank];
        for (int dim = 0; dim < rank; dim++) {
            dims[dim] = DimFields.DIM.get(bytes, at(SectionType.DIMS, first + dim));
        }
        return dims;
    }

    /// {@return the number of the name that a tensor is known by, or [#NONE]}
    public long nameOfTensor(int number) {
        return get(SectionType.TENS, number, TensorFields.NAME);
    }

    /// {@return the element type with this number}
    public DTypeRecord dtype(int number) {
        long at = at(SectionType.DTYP, number);
        return new DTypeRecord(string(at), DTypeFields.BITS.getInt(bytes, at));
    }

    /// {@return the name with this number}
    public String name(int number) {
        return string(at(SectionType.NAMS, number));
    }

    /// Compares two names as they are sorted.
    int compareName(int left, int right) {
        long at = at(SectionType.NAMS, right);
        long length = RecordLayout.TEXT_LENGTH.get(bytes, at);
        long text = text(RecordLayout.TEXT.get(bytes, at), length);
        return compareName(left, bytes, text, text + length);
    }

    /// Compares a name with a text in UTF-8, as names are sorted.
    public int compareName(int name, MemorySegment text) {
        return compareName(name, text, 0, text.byteSize());
    }

    private int compareName(int name, MemorySegment text, long from, long to) {
        long at = at(SectionType.NAMS, name);
        long length = RecordLayout.TEXT_LENGTH.get(bytes, at);
        long start = text(RecordLayout.TEXT.get(bytes, at), length);
        return StrictUtf8.compare(bytes, start, start + length, text, from, to);
    }

    /// {@return the number of the tensor that the name with this number belongs to}
    public int tensorOfName(int number) {
        return (int) get(SectionType.NAMS, number, NameFields.TENSOR);
    }

    /// {@return the text that the record at `at` begins with a reference to}
    private String string(long at) {
        long length = RecordLayout.TEXT_LENGTH.get(bytes, at);
        return StrictUtf8.decode(bytes, text(RecordLayout.TEXT.get(bytes, at), length), length);
    }

    private Table sectionOf(SectionType type) {
        Table section = sections[place(type)];
        return section == null ? Table.MISSING : section;
    }

    @SuppressWarnings("EnumOrdinal") // The place in an array of this object, which is stored nowhere.
    private static int place(SectionType type) {
        return type.ordinal();
    }
}
