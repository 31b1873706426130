package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.Coding;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.ExtentSums;
import java.util.Comparator;
import org.jspecify.annotations.Nullable;

/// A run of bytes of a storage, for a record of the index.
public sealed interface Extent {
    /// Bytes that are in a file.
    ///
    /// @param place the place
    /// @param sums over all of them
    /// @param coding how they are stored there, if not as they are
    record Stored(Place place, ExtentSums sums, @Nullable Coding coding) implements Extent {}

    /// Zeros that take no space.
    ///
    /// @param length the number of bytes
    record Zero(long length) implements Extent {}

    /// The place of bytes: a file and a range of it.
    ///
    /// @param base the file: [#THIS_FILE], or the number of a base as the caller named it, from 1
    /// @param offset the first byte in that file
    /// @param length the number of bytes, decoded if they are coded there
    record Place(int base, long offset, long length) implements Comparable<Place> {
        public static final int THIS_FILE = ExtentRecord.THIS_FILE;

        private static final Comparator<Place> PREFERENCE = Comparator.comparingInt(Place::base)
                .thenComparingLong(Place::offset).thenComparingLong(Place::length);

        /// {@return the place of an extent}
        ///
        /// @param extent an extent that is stored
        /// @param base the number here of the file that it is in
        public static Place of(ExtentRecord extent, int base) {
            return new Place(base, extent.fileOffset(), extent.length());
        }

        /// Orders places by preference, which determines canonical bytes.
        @Override
        public int compareTo(Place other) {
            return PREFERENCE.compare(this, other);
        }

        /// Offsets are multiples of 64, of which the hash code that records have uses one bucket of many.
        @Override
        public int hashCode() {
            return (int) ((((offset * 31 + length) * 31 + base) * 0x9E37_79B9_7F4A_7C15L) >>> Integer.SIZE);
        }

        long end() {
            return offset + length;
        }
    }
}
