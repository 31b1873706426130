package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.ExtentRecord;
import java.util.Comparator;

/// The place of bytes: a file and a range of it.
///
/// @param base the file: [#THIS_FILE], or the number of a base as the caller named it, from 1
/// @param offset the first byte in that file
/// @param length the number of bytes
public record Place(int base, long offset, long length) implements Comparable<Place> {
    public static final int THIS_FILE = ExtentRecord.THIS_FILE;

    private static final Comparator<Place> PREFERENCE = Comparator.comparingInt(Place::base)
            .thenComparingLong(Place::offset).thenComparingLong(Place::length);

    /// Orders places by preference, which determines canonical bytes.
    @Override
    public int compareTo(Place other) {
        return PREFERENCE.compare(this, other);
    }

    long end() {
        return offset + length;
    }
}
