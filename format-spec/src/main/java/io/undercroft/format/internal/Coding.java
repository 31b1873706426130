package io.undercroft.format.internal;

import io.undercroft.format.internal.index.Records.CodingFields;
import java.lang.foreign.MemorySegment;

/// How the bytes of an extent are stored in fewer bytes (section 11.5 of the format).
///
/// @param codec the number of the codec, which may be unknown to this version
/// @param width the size of an element in bytes: 1, 2, 4 or 8
/// @param length the number of coded bytes, at least 1
/// @param checksum the CRC32C of the coded bytes
/// @param referenceBase the file that contains the reference, as in [ExtentRecord#base]; 0 if there is no reference
/// @param referenceOffset the first byte of the reference in that file; 0 if there is none
public record Coding(int codec, int width, long length, int checksum, int referenceBase, long referenceOffset) {
    /// The codec of bytes that are decoded without others: the planes of the bytes of the elements, compressed.
    public static final int PLANES = 1;
    /// The codec of elements that are differences from those of a reference.
    public static final int DIFFERENCE = 2;
    /// The most bytes that are decoded for each coded one.
    public static final int MOST_RATIO = 1024;

    /// {@return whether this version has the codec}
    public boolean isKnown() {
        return codec == PLANES || codec == DIFFERENCE;
    }

    /// {@return whether the bytes of a reference are needed to decode those of the extent}
    public boolean hasReference() {
        return codec == DIFFERENCE;
    }

    /// {@return whether the bytes of a reference in the same file are needed}
    public boolean hasReferenceInThisFile() {
        return hasReference() && referenceBase == ExtentRecord.THIS_FILE;
    }

    /// {@return the same coding with its reference at another place of this file}
    ///
    /// @param offset the first byte of the reference
    public Coding with(long offset) {
        return new Coding(codec, width, length, checksum, ExtentRecord.THIS_FILE, offset);
    }

    /// {@return the fewest bytes that an extent may be coded in}
    ///
    /// @param length the number of bytes of the extent
    public static long leastLength(long length) {
        return Math.ceilDiv(length, MOST_RATIO);
    }

    /// {@return whether readers accept it for an extent; whether its ranges are in their files is another question}
    ///
    /// @param extent the number of bytes of the extent
    public boolean fits(long extent) {
        return isKnown() && hasWidth(extent) && hasLength(extent)
                && (hasReference()
                        ? referenceBase >= 0 && referenceOffset >= 0
                        : referenceBase == 0 && referenceOffset == 0);
    }

    /// {@return whether the width is possible, and divides the number of bytes of an extent}
    public boolean hasWidth(long extent) {
        return width > 0 && width <= Long.BYTES && Integer.bitCount(width) == 1 && extent % width == 0;
    }

    /// {@return whether there are fewer coded bytes than the extent has, and enough}
    public boolean hasLength(long extent) {
        return length < extent && length >= leastLength(extent);
    }

    /// {@return the greatest width whose elements make up a run of bytes, at most that of a dtype}
    ///
    /// @param itemsize the size of an element of the dtype in bytes, at least 1
    /// @param length the number of bytes
    public static int width(long itemsize, long length) {
        int width = (int) Math.min(Long.lowestOneBit(itemsize), Long.BYTES);
        while (length % width != 0) {
            width /= 2;
        }
        return width;
    }

    /// Writes a record of the section CODE.
    ///
    /// @param extent the number of the extent
    /// @param record the record, which is zero
    void write(long extent, MemorySegment record) {
        CodingFields.EXTENT.put(record, 0, extent);
        CodingFields.CODEC.put(record, 0, codec);
        CodingFields.WIDTH.put(record, 0, width);
        CodingFields.REFERENCE_BASE.put(record, 0, referenceBase);
        CodingFields.LENGTH.put(record, 0, length);
        CodingFields.REFERENCE_OFFSET.put(record, 0, referenceOffset);
        CodingFields.CRC.put(record, 0, checksum);
    }
}
