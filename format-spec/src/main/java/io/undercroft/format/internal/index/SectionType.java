package io.undercroft.format.internal.index;

import org.jspecify.annotations.Nullable;

/// The sections of an index that this version knows, in their canonical order.
public enum SectionType {
    /// Extents.
    EXTN(40),
    /// Storages.
    STOR(16),
    /// Tensors.
    TENS(24),
    /// Sizes and strides of tensors.
    DIMS(8),
    /// Sorted names of tensors.
    NAMS(16),
    /// Numbered strings.
    STRS(16),
    /// Element types.
    DTYP(32),
    /// The bytes of all names and strings.
    STRB(1),
    /// The state tree.
    TREE(1),
    /// Metadata.
    META(1),
    /// Other files in which bytes are.
    BASE(96, false, true),
    /// Ranges of the file that no snapshot uses.
    FREE(16, false, true),
    /// Checksums of the blocks of the index before it.
    ISUM(4, false, false);

    private static final SectionType[] ALL = values();

    private final int recordSize;
    private final boolean isRequired;
    private final boolean isCritical;

    SectionType(int recordSize) {
        this(recordSize, true, true);
    }

    SectionType(int recordSize, boolean isRequired, boolean isCritical) {
        this.recordSize = recordSize;
        this.isRequired = isRequired;
        this.isCritical = isCritical;
    }

    /// {@return the size of a record in bytes, 1 for a run of bytes}
    public int recordSize() {
        return recordSize;
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
        return recordSize > Long.BYTES;
    }

    /// {@return the four characters as a little-endian number}
    public int code() {
        return code(name());
    }

    /// {@return the code of four characters, each up to U+00FF, as a little-endian number}
    public static int code(String name) {
        return name.charAt(0) | name.charAt(1) << 8 | name.charAt(2) << 16 | name.charAt(3) << 24;
    }

    /// {@return the section type of a code, or null if this version does not know it}
    public static @Nullable SectionType of(int code) {
        for (SectionType type : ALL) {
            if (type.code() == code) {
                return type;
            }
        }
        return null;
    }
}
