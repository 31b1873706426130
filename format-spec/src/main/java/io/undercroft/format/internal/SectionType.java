package io.undercroft.format.internal;

import org.jspecify.annotations.Nullable;

/// The sections of an index that this version knows, in their canonical order. All of them are critical and must be
/// there.
public enum SectionType {
    /// Extents.
    EXTN(64),
    /// Storages.
    STOR(40),
    /// Tensors.
    TENS(64),
    /// Sizes and strides of tensors.
    DIMS(8),
    /// Sorted names of tensors.
    NAMS(24),
    /// Numbered strings.
    STRS(16),
    /// Element types.
    DTYP(32),
    /// The bytes of all names and strings.
    STRB(1),
    /// Chunk checksums.
    CHKS(4),
    /// The state tree.
    TREE(1),
    /// Metadata.
    META(1);

    private static final SectionType[] ALL = values();

    private final int recordSize;

    SectionType(int recordSize) {
        this.recordSize = recordSize;
    }

    /// {@return the size of a record in bytes, 1 for a run of bytes}
    public int recordSize() {
        return recordSize;
    }

    /// {@return whether a newer minor version may widen the records: not where they are plain numbers or bytes}
    public boolean isWidenable() {
        return recordSize > Long.BYTES;
    }

    /// {@return the four characters as a little-endian number}
    public int code() {
        String name = name();
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
