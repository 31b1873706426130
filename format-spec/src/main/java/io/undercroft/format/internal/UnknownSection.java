package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.SectionType;
import java.lang.foreign.MemorySegment;

/// A section of an index whose meaning is unknown to this version, and not needed.
///
/// @param code its four characters, each up to U+00FF
/// @param isSafeToCopy whether it is valid independent of all other sections, so that a writer that makes a new index
///     may copy it
/// @param recordSize the size of a record in bytes, from 1 to 2^32-1
/// @param bytes its records; those of an open snapshot live as long as the snapshot
public record UnknownSection(String code, boolean isSafeToCopy, long recordSize, MemorySegment bytes) {
    /// Checks that a directory can have an entry for it.
    ///
    /// @throws IllegalArgumentException if the code is none or has a meaning, or the bytes are no whole records
    public UnknownSection {
        if (code.length() != 4 || code.chars().anyMatch(c -> c > 0xFF)
                || SectionType.of(SectionType.code(code)) != null) {
            throw new IllegalArgumentException(
                    FormatException.quote(code) + " cannot be the code of an unknown section");
        }
        if (recordSize < 1 || recordSize > 0xFFFF_FFFFL || bytes.byteSize() % recordSize != 0) {
            throw new IllegalArgumentException(
                    bytes.byteSize() + " bytes are no whole records of " + recordSize + " bytes");
        }
    }

    /// {@return the number of records}
    public long count() {
        return bytes.byteSize() / recordSize;
    }
}
