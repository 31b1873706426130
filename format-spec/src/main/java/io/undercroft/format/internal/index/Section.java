package io.undercroft.format.internal.index;

import io.undercroft.format.internal.UnknownSection;
import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;

/// A section that is to be written: its size is known before its bytes are.
///
/// @param name its code as text
/// @param isRequired whether it must be there even if it has no records
/// @param flags of its entry in the directory
/// @param recordSize the size of a record in bytes
/// @param count the number of records that it has
/// @param content fills a segment of exactly that size, which is zero
public record Section(String name, boolean isRequired, int flags, long recordSize, long count,
        Consumer<MemorySegment> content) {
    /// {@return a section of records as this version writes them}
    public static Section of(SectionType type, long count, Consumer<MemorySegment> content) {
        return of(type, type.recordSize(), count, content);
    }

    /// {@return a section of records that may be wider than this version writes them}
    public static Section of(SectionType type, long recordSize, long count, Consumer<MemorySegment> content) {
        return new Section(type.name(), type.isRequired(), type.flags(), recordSize, count, content);
    }

    /// {@return a section whose meaning is unknown to this version}
    public static Section of(UnknownSection section) {
        return new Section(section.code(), true, section.isSafeToCopy() ? Index.SAFE_TO_COPY : 0, section.recordSize(),
                section.count(), bytes -> bytes.copyFrom(section.bytes()));
    }

    /// {@return its size in bytes}
    ///
    /// @throws ArithmeticException if that is past 2^63-1
    long length() {
        return Math.multiplyExact(count, recordSize);
    }
}
