package io.undercroft.format.internal.index;

import org.jspecify.annotations.Nullable;

/// The sections of an index of this version, in their canonical order.
public enum SectionType {
    /// Extents.
    EXTN(Records.ExtentFields.RECORD),
    /// Storages.
    STOR(Records.StorageFields.RECORD),
    /// Tensors.
    TENS(Records.TensorFields.RECORD),
    /// Sizes and strides of tensors.
    DIMS(Records.DimFields.RECORD),
    /// Sorted names of tensors.
    NAMS(Records.NameFields.RECORD),
    /// Numbered strings.
    STRS(Records.StringFields.RECORD),
    /// Element types.
    DTYP(Records.DTypeFields.RECORD),
    /// The bytes of all names and strings.
    STRB(Records.BYTES),
    /// The state tree.
    TREE(Records.BYTES),
    /// Metadata.
    META(Records.BYTES),
    /// Other files in which bytes are.
    BASE(Records.BaseFields.RECORD, false, true),
    /// Ranges of the file that no snapshot uses.
    FREE(Records.FreeRangeFields.RECORD, false, true),
    /// How extents are coded that are not stored as they are.
    CODE(Records.CodingFields.RECORD, false, false),
    /// Checksums of the blocks of the index before it.
    ISUM(Records.BlockSumFields.RECORD, false, false);

    private static final SectionType[] ALL = values();

    /// Complete when its class is initialized, and never changed then.
    @SuppressWarnings("ImmutableEnumChecker")
    private final RecordLayout record;
    private final boolean isRequired;
    private final boolean isCritical;

    SectionType(RecordLayout record) {
        this(record, true, true);
    }

    SectionType(RecordLayout record, boolean isRequired, boolean isCritical) {
        this.record = record;
        this.isRequired = isRequired;
        this.isCritical = isCritical;
    }

    /// {@return the fields of a record}
    public RecordLayout record() {
        return record;
    }

    /// {@return the size of a record in bytes, 1 for a run of bytes}
    public int recordSize() {
        return record.size();
    }

    /// {@return whether an index without it is malformed; the others are left out when they have no records}
    public boolean isRequired() {
        return isRequired;
    }

    /// {@return the flags of its entry in a directory}
    public int flags() {
        return isCritical ? Index.CRITICAL : 0;
    }

    /// {@return whether a newer minor version may widen the records: not where they are plain numbers or bytes}
    public boolean isWidenable() {
        return record.size() > Long.BYTES;
    }

    /// {@return the four characters as a little-endian number}
    public int code() {
        return code(name());
    }

    /// {@return the code of four characters, each up to U+00FF, as a little-endian number}
    public static int code(String name) {
        return name.charAt(0) | name.charAt(1) << 8 | name.charAt(2) << 16 | name.charAt(3) << 24;
    }

    /// {@return the section type of a code, or null if it is unknown to this version}
    public static @Nullable SectionType of(int code) {
        for (SectionType type : ALL) {
            if (type.code() == code) {
                return type;
            }
        }
        return null;
    }
}
