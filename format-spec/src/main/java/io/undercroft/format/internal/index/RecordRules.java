package io.undercroft.format.internal.index;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseKind;
import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.Coding;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.StateTreeReader;
import io.undercroft.format.internal.TensorFlag;
import io.undercroft.format.internal.index.Records.BaseFields;
import io.undercroft.format.internal.index.Records.CodingFields;
import io.undercroft.format.internal.index.Records.DTypeFields;
import io.undercroft.format.internal.index.Records.ExtentFields;
import io.undercroft.format.internal.index.Records.FreeRangeFields;
import io.undercroft.format.internal.index.Records.NameFields;
import io.undercroft.format.internal.index.Records.StorageFields;
import io.undercroft.format.internal.index.Records.StringFields;
import io.undercroft.format.internal.index.Records.TensorFields;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// Checks the contents of one record of an index before it is used, so that the accessors of [Index] need no checks.
///
/// What a check costs does not depend on the number of records, but for the extents of a storage, and for the tree and
/// the metadata, which are checked as a whole. Safe for any thread.
public final class RecordRules {
    /// The fields of an extent that are zero in an extent of zeros.
    private static final List<Field> OF_STORED_BYTES = List.of(ExtentFields.FLAGS, ExtentFields.BASE, ExtentFields.CRC,
            ExtentFields.OFFSET,
            ExtentFields.DIGEST);

    private final Index index;
    private final MemorySegment bytes;
    private final CommitRecord commit;
    private final Header header;
    private final Limits limits;
    private volatile boolean areBasesChecked;
    /// The storages that were used, and the number of their bytes.
    private final BitSet used = new BitSet();
    private long usedBytes;

    /// The rules for an index.
    ///
    /// @param index the index, whose directory was checked
    /// @param commit the record that points to it
    /// @param header the file's header
    /// @param limits the limits that the file must not exceed
    public RecordRules(Index index, CommitRecord commit, Header header, Limits limits) {
        this.index = index;
        this.bytes = index.bytes();
        this.commit = commit;
        this.header = header;
        this.limits = limits;
    }

    /// {@return a reader of the state tree, which is well-formed and names only what is there}
    public StateTreeReader state() {
        TreeRules.checkState(tree(SectionType.TREE), count(SectionType.TENS), count(SectionType.STOR),
                count(SectionType.DTYP));
        return tree(SectionType.TREE);
    }

    /// {@return a reader of the metadata, which are a sorted map of strings}
    public StateTreeReader metadata() {
        TreeRules.checkMetadata(tree(SectionType.META));
        return tree(SectionType.META);
    }

    private StateTreeReader tree(SectionType type) {
        return new StateTreeReader(index.section(type), limits, index.fileOffset(type, 0));
    }

    /// Checks a numbered string.
    void checkString(long number) {
        checkText(SectionType.STRS, number);
        reserved(SectionType.STRS, number, StringFields.RESERVED);
    }

    /// Checks an element type.
    public void checkDType(long number) {
        checkText(SectionType.DTYP, number);
        checkElement(number);
        reserved(SectionType.DTYP, number, DTypeFields.RESERVED);
    }

    /// Checks how large the elements of a type are, which is all that its tensors need.
    private void checkElement(long number) {
        long at = index.at(SectionType.DTYP, number);
        if (DTypeFields.BITS.getInt(bytes, at) <= 0) {
            throw broken(Rule.V15_STRUCTURE, SectionType.DTYP, number, "has no possible size in bits");
        }
        if (DTypeFields.ELEMENTS.get(bytes, at) != 1) {
            throw broken(Rule.V13_UNSUPPORTED, SectionType.DTYP, number, "has blocks of several elements");
        }
    }

    /// A record that begins with the place and length of a text.
    private void checkText(SectionType type, long number) {
        long at = index.at(type, number);
        long from = u64(RecordLayout.TEXT, at);
        long length = RecordLayout.TEXT_LENGTH.get(bytes, at);
        if (length > limits.maxNameBytes()) {
            throw broken(Rule.V8_LIMIT, type, number,
                    "has a text of " + length + " bytes, the limit is " + limits.maxNameBytes());
        }
        if (!index.hasText(from, length)) {
            throw broken(Rule.V10_INDEX, type, number, "has a text outside the string bytes and the state tree");
        }
        if (!StrictUtf8.isValid(bytes, index.text(from, length), length)) {
            throw broken(Rule.V6_NAME, type, number, "has a text that is not UTF-8");
        }
    }

    /// Checks all bases, when the first of them is used. Their number is limited.
    public void checkBases() {
        if (areBasesChecked) {
            return;
        }
        Set<Object> identities = new HashSet<>();
        for (int i = 0; i < count(SectionType.BASE); i++) {
            checkText(SectionType.BASE, i);
            checkBase(i);
            if (!identities.add(index.base(i).identity())) {
                throw broken(Rule.V15_STRUCTURE, SectionType.BASE, i, "is the same file as another base");
            }
        }
        areBasesChecked = true;
    }

    private void checkBase(int number) {
        long at = index.at(SectionType.BASE, number);
        if (RecordLayout.TEXT_LENGTH.get(bytes, at) == 0) {
            throw broken(Rule.V8_LIMIT, SectionType.BASE, number, "has an empty path");
        }
        long kind = BaseFields.KIND.get(bytes, at);
        if (kind > BaseKind.FOREIGN.code()) {
            throw broken(Rule.V13_UNSUPPORTED, SectionType.BASE, number, "has kind " + kind);
        }
        u64(BaseFields.LENGTH, at);
        u64(BaseFields.SEQUENCE, at);
        reserved(SectionType.BASE, number, BaseFields.RESERVED);
        BaseRecord base = index.base(number);
        if (!BaseRecord.isPath(base.path())) {
            throw broken(Rule.V6_NAME, SectionType.BASE, number,
                    "has the path " + FormatException.quote(base.path()) + ", which does not lead down");
        }
        if (base.depth() > limits.maxBaseDepth()) {
            throw broken(Rule.V8_LIMIT, SectionType.BASE, number,
                    "has depth " + base.depth() + ", the limit is " + limits.maxBaseDepth());
        }
        if (!base.isWellFormed()) {
            throw broken(Rule.V15_STRUCTURE, SectionType.BASE, number, "has fields that contradict its kind");
        }
    }

    /// Checks a free range, and that it is after the one before it.
    public void checkFreeRange(long number) {
        long end = number == 0 ? -1 : endOfFreeRange(number - 1);
        endOfFreeRange(number);
        if (u64(FreeRangeFields.OFFSET, index.at(SectionType.FREE, number)) <= end) {
            throw broken(Rule.V2_RANGE, SectionType.FREE, number, "touches the one before it, or is out of order");
        }
    }

    private long endOfFreeRange(long number) {
        long at = index.at(SectionType.FREE, number);
        long offset = u64(FreeRangeFields.OFFSET, at);
        long length = u64(FreeRangeFields.LENGTH, at);
        boolean inside = offset >= header.dataStart() && offset <= commit.committedLength()
                && length <= commit.committedLength() - offset;
        if (!inside || length == 0 || header.isInSlots(offset, offset + length)) {
            throw broken(Rule.V2_RANGE, SectionType.FREE, number,
                    "has " + length + " bytes from " + offset + " on, outside the data");
        }
        return offset + length;
    }

    /// Checks an extent, and the bases if it is in one.
    public void checkExtent(long number) {
        long at = index.at(SectionType.EXTN, number);
        int kind = ExtentFields.KIND.getInt(bytes, at);
        if (kind > ExtentKind.CODED.code()) {
            throw broken(Rule.V13_UNSUPPORTED, SectionType.EXTN, number, "has kind " + kind);
        }
        if (ExtentFields.FLAGS.get(bytes, at) > Index.SHARED) {
            throw broken(Rule.V9_RESERVED, SectionType.EXTN, number, "has unknown flags");
        }
        if (u64(ExtentFields.LENGTH, at) == 0) {
            throw broken(Rule.V4_EXTENT_SUM, SectionType.EXTN, number, "is empty");
        }
        if (kind == ExtentKind.ZERO.code()) {
            for (Field field : OF_STORED_BYTES) {
                reserved(SectionType.EXTN, number, field);
            }
        } else {
            checkStored(number, at, ExtentKind.of(kind));
        }
    }

    private void checkStored(long number, long at, ExtentKind kind) {
        int base = ExtentFields.BASE.getInt(bytes, at);
        if (isForeign(SectionType.EXTN, number, base) != (kind == ExtentKind.FOREIGN)) {
            throw broken(Rule.V10_INDEX, SectionType.EXTN, number, "has kind " + kind + " and a base of another kind");
        }
        long from = u64(ExtentFields.OFFSET, at);
        long length = u64(ExtentFields.LENGTH, at);
        if (length > 1L << header.chunkLog2()) {
            throw broken(Rule.V4_EXTENT_SUM, SectionType.EXTN, number,
                    "has " + length + " bytes, more than a chunk");
        }
        checkPlace(SectionType.EXTN, number, base, from,
                kind == ExtentKind.CODED ? codedLength(number, length) : length);
    }

    /// Checks how an extent is coded.
    ///
    /// @param extent its number
    /// @param length the number of bytes that it is decoded to, at most a chunk
    /// @return the number of coded bytes
    private long codedLength(long extent, long length) {
        long number = index.codingOf(extent);
        if (number < 0) {
            throw broken(Rule.V10_INDEX, SectionType.EXTN, extent, "is coded, and CODE does not say how");
        }
        long at = index.at(SectionType.CODE, number);
        u64(CodingFields.LENGTH, at);
        u64(CodingFields.REFERENCE_OFFSET, at);
        Coding coding = index.coding(number);
        if (!coding.isKnown()) {
            throw broken(Rule.V13_UNSUPPORTED, SectionType.CODE, number, "has the codec " + coding.codec());
        }
        if (!coding.hasWidth(length)) {
            throw broken(Rule.V15_STRUCTURE, SectionType.CODE, number,
                    "has elements of " + coding.width() + " bytes, which cannot be");
        }
        if (!coding.hasLength(length)) {
            throw broken(Rule.V4_EXTENT_SUM, SectionType.CODE, number,
                    "has " + coding.length() + " bytes for an extent of " + length);
        }
        reserved(SectionType.CODE, number, CodingFields.RESERVED);
        if (coding.hasReference()) {
            var _ = isForeign(SectionType.CODE, number, coding.referenceBase());
            checkPlace(SectionType.CODE, number, coding.referenceBase(), coding.referenceOffset(), length);
        } else {
            reserved(SectionType.CODE, number, CodingFields.REFERENCE_BASE);
            reserved(SectionType.CODE, number, CodingFields.REFERENCE_OFFSET);
        }
        return coding.length();
    }

    /// Checks how an extent is coded, and that the table of codings is in the order of the extents.
    void checkCoding(long number) {
        long extent = index.get(SectionType.CODE, number, CodingFields.EXTENT);
        boolean isAfter = number == 0 || extent > index.get(SectionType.CODE, number - 1, CodingFields.EXTENT);
        if (!isAfter || extent >= count(SectionType.EXTN) || !index.isCoded(extent)) {
            throw broken(Rule.V10_INDEX, SectionType.CODE, number, "is not that of the next coded extent");
        }
    }

    /// Checks that a range of this file or of a base, whose number was checked, is where bytes of extents may be.
    private void checkPlace(SectionType type, long number, int base, long from, long length) {
        long low = header.dataStart();
        long high = commit.committedLength();
        if (base > 0) {
            boolean foreign = index.get(SectionType.BASE, base - 1, BaseFields.KIND) == BaseKind.FOREIGN.code();
            low = foreign ? 0 : FileLayout.DATA_START;
            high = index.get(SectionType.BASE, base - 1, BaseFields.LENGTH);
        }
        boolean isInSlots = base == 0 && header.isInSlots(from, from + length);
        if (from < low || from > high || length > high - from || isInSlots) {
            throw broken(Rule.V2_RANGE, type, number,
                    "has " + length + " bytes from " + from + " on, outside the data");
        }
    }

    /// {@return whether a base is a file of another format}
    private boolean isForeign(SectionType type, long number, int base) {
        if (base > count(SectionType.BASE)) {
            throw broken(Rule.V10_INDEX, type, number, "has a base that is not there");
        }
        if (base > 0) {
            checkBases();
        }
        return base > 0 && index.get(SectionType.BASE, base - 1, BaseFields.KIND) == BaseKind.FOREIGN.code();
    }

    /// Checks a storage, all its extents, and that they follow those of the storage before it.
    public void checkStorage(long number) {
        long at = index.at(SectionType.STOR, number);
        long first = index.firstExtent(number);
        long end = index.firstExtent(number + 1);
        if (first > end || end > count(SectionType.EXTN) || (number == 0 && first > 0)) {
            throw broken(Rule.V10_INDEX, SectionType.STOR, number,
                    "has the extents from " + first + " to before " + end + ", which are not the next ones");
        }
        checkStorage(number, at, first, end);
    }

    /// Checks a storage that a reader uses, and counts it, unless that was done before. A storage of zeros takes almost
    /// no space in a file, so a small file may require any amount of memory.
    ///
    /// @param number its number
    /// @throws FormatException by rule V7 if all these storages are much larger than the file
    public void useStorage(int number) {
        if (!isUsed(number)) {
            checkStorage(number);
            countUse(number, nbytes(number));
        }
    }

    private synchronized boolean isUsed(int number) {
        return used.get(number);
    }

    private synchronized void countUse(int number, long nbytes) {
        if (!used.get(number)) {
            long sum = nbytes > Long.MAX_VALUE - usedBytes ? Long.MAX_VALUE : usedBytes + nbytes;
            checkExpansion(sum);
            usedBytes = sum;
            used.set(number);
        }
    }

    /// Checks that storages are not much larger than the file.
    void checkExpansion(long nbytes) {
        if (nbytes - commit.committedLength() > limits.maxExpansion()) {
            throw Rule.V7_EXPANSION.broken("the storages have " + nbytes + " bytes, " + limits.maxExpansion()
                    + " more than the file is the limit", FormatException.NO_OFFSET);
        }
    }

    /// {@return the size of a storage in bytes, which are few enough to count their bits}
    long nbytes(long number) {
        long nbytes = u64(StorageFields.NBYTES, index.at(SectionType.STOR, number));
        if (nbytes > StrideArithmetic.MAX_NBYTES) {
            throw broken(Rule.V1_ARITHMETIC, SectionType.STOR, number,
                    "has " + nbytes + " bytes, too many to count bits");
        }
        return nbytes;
    }

    private void checkStorage(long number, long at, long firstExtent, long end) {
        long nbytes = nbytes(number);
        ExtentAlignment shape = new ExtentAlignment(nbytes, header.chunkLog2());
        long length = 0;
        for (long i = firstExtent; i < end; i++) {
            checkExtent(i);
            long extent = index.at(SectionType.EXTN, i);
            long extentLength = ExtentFields.LENGTH.get(bytes, extent);
            if (!shape.accepts(ExtentKind.of(ExtentFields.KIND.getInt(bytes, extent)), length,
                    ExtentFields.OFFSET.get(bytes, extent), extentLength)) {
                throw broken(Rule.V2_RANGE, SectionType.EXTN, i,
                        "is not aligned to " + FileLayout.alignment(nbytes, header.chunkLog2())
                                + " bytes");
            }
            length = sum(length, extentLength, SectionType.EXTN, i);
        }
        if (length != nbytes) {
            throw broken(Rule.V4_EXTENT_SUM, SectionType.STOR, number,
                    "has " + nbytes + " bytes, but its extents " + length);
        }
        long device = StorageFields.DEVICE.get(bytes, at);
        if (device >= count(SectionType.STRS)) {
            throw broken(Rule.V10_INDEX, SectionType.STOR, number, "has a device string that is not there");
        }
        checkString(device);
    }

    /// Checks a tensor, and that it is inside its storage; the extents of the storage are not checked.
    public void checkTensor(long number) {
        long at = index.at(SectionType.TENS, number);
        if (TensorFields.DTYPE.get(bytes, at) >= count(SectionType.DTYP)
                || TensorFields.STORAGE.get(bytes, at) >= count(SectionType.STOR)) {
            throw broken(Rule.V10_INDEX, SectionType.TENS, number, "has a dtype or storage that is not there");
        }
        if (TensorFields.FLAGS.get(bytes, at) > Index.ALL_TENSOR_FLAGS) {
            throw broken(Rule.V9_RESERVED, SectionType.TENS, number, "has unknown flags");
        }
        checkNameOfTensor(number, TensorFields.NAME.get(bytes, at));
        int rank = checkRank(number, at);
        long first = TensorFields.FIRST_DIM.get(bytes, at);
        checkSpan(number, at, index.dims(first, rank), index.dims(first + rank, rank));
    }

    private int checkRank(long number, long at) {
        int rank = TensorFields.RANK.getInt(bytes, at);
        if (rank > limits.maxRank()) {
            throw broken(Rule.V8_LIMIT, SectionType.TENS, number,
                    "has " + rank + " dimensions, the limit is " + limits.maxRank());
        }
        long first = TensorFields.FIRST_DIM.get(bytes, at);
        if (first > count(SectionType.DIMS) || 2L * rank > count(SectionType.DIMS) - first) {
            throw broken(Rule.V10_INDEX, SectionType.TENS, number, "has sizes and strides that are not there");
        }
        return rank;
    }

    private void checkSpan(long number, long at, long[] shape, long[] stride) {
        boolean reversed = false;
        for (int dim = 0; dim < shape.length; dim++) {
            if (shape[dim] < 0) {
                throw broken(Rule.V5_STRIDE_RANGE, SectionType.TENS, number,
                        "has size " + shape[dim] + " in dimension " + dim);
            }
            reversed |= stride[dim] < 0;
        }
        long flags = TensorFields.FLAGS.get(bytes, at);
        if (reversed != ((flags & TensorFlag.REVERSED.bit()) != 0)) {
            throw broken(Rule.V5_STRIDE_RANGE, SectionType.TENS, number,
                    "has strides that contradict its flag for negative ones");
        }
        if (!StrideArithmetic.isCountable(shape)) {
            throw broken(Rule.V1_ARITHMETIC, SectionType.TENS, number, "has more than 2^63-1 elements");
        }
        long nbytes = nbytes(TensorFields.STORAGE.get(bytes, at));
        long dtype = TensorFields.DTYPE.get(bytes, at);
        checkElement(dtype);
        int bits = (int) index.get(SectionType.DTYP, dtype, DTypeFields.BITS);
        long byteOffset = u64(TensorFields.BYTE_OFFSET, at);
        int bitOffset = (int) flags >> Index.BIT_OFFSET;
        if (!StrideArithmetic.isStartOfElement(byteOffset, bitOffset, bits)) {
            throw broken(Rule.V5_STRIDE_RANGE, SectionType.TENS, number, "starts at byte " + byteOffset + " and bit "
                    + bitOffset + ", where no element of " + bits + " bits starts");
        }
        if (!StrideArithmetic.fits(shape, stride, bits, byteOffset, bitOffset, nbytes)) {
            throw broken(Rule.V5_STRIDE_RANGE, SectionType.TENS, number,
                    "reaches outside its storage of " + nbytes + " bytes");
        }
    }

    private void checkNameOfTensor(long number, long name) {
        if (name == Index.NONE) {
            return;
        }
        if (name >= count(SectionType.NAMS) || index.get(SectionType.NAMS, name, NameFields.TENSOR) != number) {
            throw broken(Rule.V10_INDEX, SectionType.TENS, number, "claims a name that is not its own");
        }
    }

    /// Checks a name; its order among the names is checked by [IndexRules].
    public void checkName(long number) {
        checkText(SectionType.NAMS, number);
        if (index.get(SectionType.NAMS, number, NameFields.TENSOR) >= count(SectionType.TENS)) {
            throw broken(Rule.V10_INDEX, SectionType.NAMS, number, "belongs to a tensor that is not there");
        }
    }

    private long count(SectionType type) {
        return index.count(type);
    }

    private long u64(Field field, long at) {
        return field.u64(bytes, at, index.fileOffset());
    }

    private void reserved(SectionType type, long number, Field field) {
        long at = index.at(type, number);
        // The text takes longer than the check, and a storage may have thousands of extents.
        if (!field.isZero(bytes, at)) {
            field.requireZero(bytes, at, index.fileOffset(), "record " + number + " of " + type);
        }
    }

    long sum(long left, long right, SectionType type, long number) {
        try {
            return Math.addExact(left, right);
        } catch (ArithmeticException e) {
            throw broken(Rule.V1_ARITHMETIC, type, number, "takes a sum of sizes past 2^63-1");
        }
    }

    FormatException broken(Rule rule, SectionType type, long number, String what) {
        return rule.broken("record " + number + " of " + type + " " + what, index.fileOffset(type, number));
    }
}
