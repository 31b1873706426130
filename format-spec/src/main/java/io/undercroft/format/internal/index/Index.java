package io.undercroft.format.internal.index;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseKind;
import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.Digests;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.ExtentSums;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.Layout;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.StorageRecord;
import io.undercroft.format.internal.TensorFlag;
import io.undercroft.format.internal.TensorRecord;
import io.undercroft.format.internal.UnknownSection;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/// The tables of an index, read in place: nothing is decoded until somebody asks for a record.
///
/// [#parse] checks the directory, and the checksums of either all sections or the checksums of all blocks. In the
/// latter case each block is checked when [#at] or another accessor first needs it. [RecordRules] checks what a record
/// says; only after that are the accessors of the record safe.
public final class Index {
    /// The size of the directory's head in bytes.
    public static final int HEAD_BYTES = 32;
    /// The size of one directory entry in bytes.
    public static final int ENTRY_BYTES = 48;
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
    static final int BIT_OFFSET = 4;
    static final int ALL_TENSOR_FLAGS = 0x7F;
    /// The extent flag of bytes that another extent of the snapshot is too.
    public static final int SHARED = 1;

    private static final TensorFlag[] TENSOR_FLAGS = TensorFlag.values();

    private final MemorySegment bytes;
    private final long fileOffset;
    private final Map<SectionType, Table> sections = new EnumMap<>(SectionType.class);
    private final Set<Integer> codes = new HashSet<>();
    private @Nullable CheckedBlocks blocks;

    private record Table(long start, long count, int recordSize) {
        /// A section that need not be there, and is not.
        static final Table MISSING = new Table(0, 0, 0);
    }

    private Index(MemorySegment bytes, long fileOffset) {
        this.bytes = bytes;
        this.fileOffset = fileOffset;
    }

    /// {@return the directory of an index: its first bytes, as long as its own section count says}
    public static MemorySegment directory(MemorySegment index) {
        return index.asSlice(0, HEAD_BYTES + ENTRY_BYTES * Fields.u32(index, 4));
    }

    /// Checks the directory, and all that a reader must know before it uses the first record: the checksums of the
    /// sections, or of section ISUM if there is one. With ISUM it touches no other section.
    ///
    /// @param bytes the whole index
    /// @param commit the record that points to it
    /// @param limits how much to believe
    /// @return the index, its records not yet checked
    /// @throws FormatException by rule V14 if it is not what was committed; otherwise if the directory breaks a rule
    public static Index parse(MemorySegment bytes, CommitRecord commit, Limits limits) {
        Index index = new Index(bytes, commit.indexOffset());
        index.checkDirectory(commit, limits);
        index.readSections(limits);
        return index;
    }

    private void checkDirectory(CommitRecord commit, Limits limits) {
        if (bytes.byteSize() < HEAD_BYTES || HEAD_BYTES + ENTRY_BYTES * Fields.u32(bytes, 4) > bytes.byteSize()
                || !Digests.xxh3(directory(bytes)).equals(commit.directoryDigest())) {
            throw Rule.V14_CHECKSUM.broken("the digest of the index directory does not match", fileOffset);
        }
        MemorySegment directory = directory(bytes);
        if (Fields.i32(directory, 0) != SIGNATURE || Fields.i64(directory, 8) != bytes.byteSize()
                || Fields.i64(directory, 16) != commit.sequence()
                || Fields.i32(directory, 24) != directoryChecksum(directory)) {
            throw Rule.V15_STRUCTURE.broken("the head of the index directory contradicts its commit record",
                    fileOffset);
        }
        Fields.reserved(directory, 28, HEAD_BYTES, fileOffset, "the index directory");
        if (Fields.u32(directory, 4) > limits.maxSections()) {
            throw Rule.V8_LIMIT.broken(
                    "the index has " + Fields.u32(directory, 4) + " sections, the limit is " + limits.maxSections(),
                    fileOffset + 4);
        }
    }

    /// {@return the CRC32C of a directory, in which its own field counts as zero}
    public static int directoryChecksum(MemorySegment directory) {
        CRC32C crc = new CRC32C();
        crc.update(directory.asSlice(0, 24).asByteBuffer());
        crc.update(new byte[4]);
        crc.update(directory.asSlice(28).asByteBuffer());
        return (int) crc.getValue();
    }

    private void readSections(Limits limits) {
        long end = directory(bytes).byteSize();
        long count = Fields.u32(bytes, 4);
        for (long entry = 0; entry < count; entry++) {
            end = readSection(HEAD_BYTES + ENTRY_BYTES * entry, end, limits);
        }
        for (SectionType type : SectionType.values()) {
            if (type.isRequired() && !sections.containsKey(type)) {
                throw Rule.V15_STRUCTURE.broken("the index has no " + type + " section", fileOffset);
            }
        }
        readBlocks(limits);
    }

    /// Makes use of section ISUM; without it, checks all there is at once, and that this is not too much.
    private void readBlocks(Limits limits) {
        Table sums = sections.get(SectionType.ISUM);
        if (sums == null) {
            if (bytes.byteSize() > limits.maxIndexBytes()) {
                throw tooLarge(bytes.byteSize(), limits.maxIndexBytes(), fileOffset);
            }
            checkSections();
            return;
        }
        long directory = directory(bytes).byteSize();
        boolean last = Fields.i32(bytes, directory - ENTRY_BYTES) == SectionType.ISUM.code();
        if (!last || sums.count() != BlockSums.count(sums.start())) {
            throw Rule.V15_STRUCTURE.broken("section ISUM is not the last one, or not of all blocks before it",
                    fileOffset + sums.start());
        }
        checkSection(directory - ENTRY_BYTES);
        blocks = new CheckedBlocks(bytes, directory, sums.start(), fileOffset);
    }

    /// Checks the checksum of each section, those included that this version does not know.
    void checkSections() {
        for (long entry = HEAD_BYTES; entry < directory(bytes).byteSize(); entry += ENTRY_BYTES) {
            checkSection(entry);
        }
    }

    private void checkSection(long entry) {
        long start = Fields.i64(bytes, entry + 8);
        long length = Fields.i64(bytes, entry + 16);
        if (Digests.crc32c(bytes.asSlice(start, length)) != Fields.i32(bytes, entry + 36)) {
            throw Rule.V14_CHECKSUM.broken("the checksum of section " + name(entry) + " does not match",
                    fileOffset + start);
        }
    }

    /// Checks that the bytes between the sections, and after the last one, are zero.
    void checkPadding() {
        long end = directory(bytes).byteSize();
        for (long entry = HEAD_BYTES; entry < directory(bytes).byteSize(); entry += ENTRY_BYTES) {
            long start = Fields.i64(bytes, entry + 8);
            Fields.reserved(bytes, end, start, fileOffset, "the index's padding");
            end = start + Fields.i64(bytes, entry + 16);
        }
        Fields.reserved(bytes, end, bytes.byteSize(), fileOffset, "the index's padding");
    }

    /// {@return how many blocks have a checksum: none in an index that was checked in one piece}
    public long blockCount() {
        return blocks == null ? 0 : blocks.count();
    }

    /// Checks a block once more.
    ///
    /// @param number which one, below [#blockCount]
    /// @throws FormatException if its checksum does not match
    public void checkBlock(long number) {
        if (blocks != null) {
            blocks.check(number);
        }
    }

    /// {@return what is wrong with an index of so many bytes}
    public static FormatException tooLarge(long length, long limit, long fileOffset) {
        return Rule.V8_LIMIT.broken("the index has " + length + " bytes, the limit is " + limit, fileOffset);
    }

    /// {@return whether a directory, which may be a hostile one or only its beginning, has an entry for block
    /// checksums}
    public static boolean claimsBlocks(MemorySegment directory) {
        for (long entry = HEAD_BYTES; entry + ENTRY_BYTES <= directory.byteSize(); entry += ENTRY_BYTES) {
            if (Fields.i32(directory, entry) == SectionType.ISUM.code()) {
                return true;
            }
        }
        return false;
    }

    /// Reads the entry at `entry`; the section before ended at `end`.
    private long readSection(long entry, long end, Limits limits) {
        long start = Fields.u64(bytes, entry + 8, fileOffset);
        long length = Fields.u64(bytes, entry + 16, fileOffset);
        if (start < end || start % Layout.SECTION_ALIGNMENT != 0 || start > bytes.byteSize()
                || length > bytes.byteSize() - start) {
            throw Rule.V2_RANGE.broken("a section of " + length + " bytes cannot be at byte " + start
                    + " of the index", fileOffset + entry + 8);
        }
        Fields.reserved(bytes, entry + 40, entry + ENTRY_BYTES, fileOffset, "a section's entry");
        readKnown(entry, start, length, limits);
        return start + length;
    }

    private void readKnown(long entry, long start, long length, Limits limits) {
        long flags = Fields.u32(bytes, entry + 4);
        if ((flags & ~(CRITICAL | SAFE_TO_COPY)) != 0) {
            throw Rule.V9_RESERVED.broken("section " + name(entry) + " has unknown flags", fileOffset + entry + 4);
        }
        long count = Fields.u64(bytes, entry + 24, fileOffset);
        long recordSize = Fields.u32(bytes, entry + 32);
        SectionType type = SectionType.of(Fields.i32(bytes, entry));
        checkTable(entry, type, count, recordSize, length);
        if (type != null) {
            checkCount(type, count, limits, fileOffset + entry);
            sections.put(type, new Table(start, count, (int) recordSize));
        } else if ((flags & CRITICAL) != 0) {
            throw Rule.V13_UNSUPPORTED.broken("the index has the unknown section " + name(entry),
                    fileOffset + entry);
        }
    }

    private void checkTable(long entry, @Nullable SectionType type, long count, long recordSize, long length) {
        if (!codes.add(Fields.i32(bytes, entry))) {
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
            case EXTN, STOR, STRS, FREE -> Integer.MAX_VALUE;
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
        return new String(bytes.asSlice(entry, 4).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.ISO_8859_1);
    }

    /// {@return all bytes of the index}
    public MemorySegment bytes() {
        return bytes;
    }

    /// {@return how many records a section has}
    public long count(SectionType type) {
        return sectionOf(type).count();
    }

    /// {@return where in the index a record starts, the bytes of which are those that were written}
    ///
    /// @throws FormatException by rule V14 if they are not
    long at(SectionType type, long number) {
        return sound(type, number, type.recordSize());
    }

    /// {@return whether there is a text}
    ///
    /// @param from where it starts in STRB or, from the length of STRB on, in TREE
    /// @param length how many bytes it has
    boolean hasText(long from, long length) {
        long strings = count(SectionType.STRB);
        long tree = count(SectionType.TREE);
        return from < strings
                ? length <= strings - from
                : from - strings <= tree && length <= tree - (from - strings);
    }

    /// {@return where in the index a text starts, the bytes of which are those that were written}
    ///
    /// @param from where it starts in STRB or, from the length of STRB on, in TREE
    /// @throws FormatException by rule V14 if they are not
    long text(long from, long length) {
        long strings = count(SectionType.STRB);
        return from < strings
                ? sound(SectionType.STRB, from, length)
                : sound(SectionType.TREE, from - strings, length);
    }

    private long sound(SectionType type, long number, long length) {
        long at = place(type, number);
        requireSound(at, length);
        return at;
    }

    private void requireSound(long at, long length) {
        if (blocks != null) {
            blocks.require(at, length);
        }
    }

    private long place(SectionType type, long number) {
        Table section = sectionOf(type);
        return section.start() + number * section.recordSize();
    }

    /// {@return where in the file a record starts}
    public long fileOffset(SectionType type, long number) {
        return fileOffset + place(type, number);
    }

    /// {@return where in the file the index starts}
    public long fileOffset() {
        return fileOffset;
    }

    /// {@return the size of a record of a section in bytes, which a newer minor version may have made wider}
    public int recordSize(SectionType type) {
        return sectionOf(type).recordSize();
    }

    /// {@return the sections that this version does not know, in the order of their entries}
    ///
    /// @throws FormatException by rule V14 if their bytes are not those that were written
    public List<UnknownSection> unknownSections() {
        List<UnknownSection> unknown = new ArrayList<>();
        for (long entry = HEAD_BYTES; entry < directory(bytes).byteSize(); entry += ENTRY_BYTES) {
            if (SectionType.of(Fields.i32(bytes, entry)) == null) {
                unknown.add(unknownSection(entry));
            }
        }
        return List.copyOf(unknown);
    }

    private UnknownSection unknownSection(long entry) {
        long start = Fields.i64(bytes, entry + 8);
        long length = Fields.i64(bytes, entry + 16);
        requireSound(start, length);
        return new UnknownSection(code(entry), (Fields.u32(bytes, entry + 4) & SAFE_TO_COPY) != 0,
                Fields.u32(bytes, entry + 32), bytes.asSlice(start, length));
    }

    /// {@return all bytes of a section}
    ///
    /// @throws FormatException by rule V14 if they are not those that were written
    public MemorySegment section(SectionType type) {
        Table section = sectionOf(type);
        long length = section.count() * section.recordSize();
        return bytes.asSlice(sound(type, 0, length), length);
    }

    /// {@return the extent with this number}
    public ExtentRecord extent(int number) {
        long at = at(SectionType.EXTN, number);
        return new ExtentRecord(ExtentKind.of(Fields.u8(bytes, at)), isShared(number), Fields.u16(bytes, at + 2),
                Fields.i64(bytes, at + 8), Fields.i64(bytes, at + 16),
                new ExtentSums(Fields.i32(bytes, at + 4), Fields.digest(bytes, at + 24)));
    }

    /// {@return whether an extent is flagged as the same bytes as another}
    boolean isShared(int extent) {
        return (Fields.u8(bytes, at(SectionType.EXTN, extent) + 1) & SHARED) != 0;
    }

    /// {@return the number of the file that an extent is in, 0 for this one}
    int baseOfExtent(int extent) {
        return Fields.u16(bytes, at(SectionType.EXTN, extent) + 2);
    }

    /// {@return where an extent is in its file}
    long offsetOfExtent(int extent) {
        return Fields.i64(bytes, at(SectionType.EXTN, extent) + 8);
    }

    /// {@return how many bytes of its file an extent takes, 0 if it is one of zeros}
    long storedLength(int extent) {
        long at = at(SectionType.EXTN, extent);
        return Fields.u8(bytes, at) == ExtentKind.ZERO.code() ? 0 : Fields.i64(bytes, at + 16);
    }

    /// {@return whether two extents have the same checksum and the same digest}
    boolean sameSums(int left, int right) {
        return extent(left).sums().equals(extent(right).sums());
    }

    /// {@return the base with this number, counted from 0}
    public BaseRecord base(int number) {
        long at = at(SectionType.BASE, number);
        return new BaseRecord(BaseKind.of(Fields.u16(bytes, at + 12)), string(at), Fields.u16(bytes, at + 14),
                Fields.uuid(bytes, at + 16), Fields.digest(bytes, at + 32), Fields.i64(bytes, at + 48),
                Fields.i64(bytes, at + 56));
    }

    /// {@return whether the base with this number is a file of another format}
    boolean isForeign(long base) {
        return Fields.u16(bytes, at(SectionType.BASE, base) + 12) == BaseKind.FOREIGN.code();
    }

    /// {@return how many bytes of the base with this number extents may be in}
    long lengthOfBase(long base) {
        return Fields.i64(bytes, at(SectionType.BASE, base) + 48);
    }

    /// {@return the free range with this number}
    public FreeRange freeRange(int number) {
        long at = at(SectionType.FREE, number);
        return new FreeRange(Fields.i64(bytes, at), Fields.i64(bytes, at + 8));
    }

    /// {@return the storage with this number}
    public StorageRecord storage(int number) {
        long at = at(SectionType.STOR, number);
        return new StorageRecord(Fields.i64(bytes, at), Fields.i32(bytes, at + 8),
                (int) (firstExtent(number + 1L) - firstExtent(number)),
                string(at(SectionType.STRS, Fields.u32(bytes, at + 12))));
    }

    /// {@return the number of the first extent of a storage; of all extents where the storage would be after the last}
    long firstExtent(long storage) {
        return storage == count(SectionType.STOR)
                ? count(SectionType.EXTN)
                : Fields.u32(bytes, at(SectionType.STOR, storage) + 8);
    }

    /// {@return the tensor with this number}
    public TensorRecord tensor(int number) {
        long at = at(SectionType.TENS, number);
        int rank = Fields.u8(bytes, at + 2);
        int flags = Fields.u8(bytes, at + 3);
        long firstDim = Fields.u32(bytes, at + 16);
        return new TensorRecord(Fields.u16(bytes, at), Fields.i32(bytes, at + 4), Fields.i64(bytes, at + 8),
                flags >> BIT_OFFSET, flags(flags), dims(firstDim, rank), dims(firstDim + rank, rank));
    }

    private static Set<TensorFlag> flags(int bits) {
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
            dims[dim] = Fields.i64(bytes, at(SectionType.DIMS, first + dim));
        }
        return dims;
    }

    /// {@return the number of the name that a tensor is known by, or [#NONE]}
    public long nameOfTensor(int number) {
        return Fields.u32(bytes, at(SectionType.TENS, number) + 20);
    }

    /// {@return the element type with this number}
    public DTypeRecord dtype(int number) {
        long at = at(SectionType.DTYP, number);
        return new DTypeRecord(string(at), Fields.i32(bytes, at + 12));
    }

    /// {@return the name with this number}
    public String name(int number) {
        return string(at(SectionType.NAMS, number));
    }

    /// Compares two names as they are sorted.
    int compareName(int left, int right) {
        return compareName(left, bytes, textStart(right), textStart(right) + textLength(right));
    }

    /// Compares a name with a text in UTF-8, as names are sorted.
    public int compareName(int name, MemorySegment text) {
        return compareName(name, text, 0, text.byteSize());
    }

    private int compareName(int name, MemorySegment text, long from, long to) {
        return Utf8.compare(bytes, textStart(name), textStart(name) + textLength(name), text, from, to);
    }

    private long textStart(int name) {
        return text(Fields.i64(bytes, at(SectionType.NAMS, name)), textLength(name));
    }

    private long textLength(int name) {
        return Fields.u32(bytes, at(SectionType.NAMS, name) + 8);
    }

    /// {@return the number of the tensor that the name with this number belongs to}
    public int tensorOfName(int number) {
        return Fields.i32(bytes, at(SectionType.NAMS, number) + 12);
    }

    /// {@return the text that the record at `at` begins with a reference to}
    private String string(long at) {
        long length = Fields.u32(bytes, at + 8);
        return Utf8.decode(bytes, text(Fields.i64(bytes, at), length), length);
    }

    private Table sectionOf(SectionType type) {
        return sections.getOrDefault(type, Table.MISSING);
    }
}
