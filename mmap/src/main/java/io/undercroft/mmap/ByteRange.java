package io.undercroft.mmap;

import io.undercroft.storage.CheckReturnValue;
import io.undercroft.storage.DType;
import java.io.Serializable;

/// A range of bytes of a file, given by an offset and a number of bytes or elements.
///
/// @param offset the offset of the first byte
/// @param nbytes the size in bytes, or [#TO_THE_END]
public record ByteRange(long offset, long nbytes) implements Serializable {
    /// The size of a range that ends at the end of the file.
    public static final long TO_THE_END = -1;

    private static final long serialVersionUID = 1L;

    /// Checks the numbers. The size of the file is checked when the range is mapped.
    ///
    /// @throws IllegalArgumentException if one is negative, or their sum is more than 2^63-1
    public ByteRange {
        if (offset < 0) {
            throw new IllegalArgumentException("there is no byte " + offset + " in a file");
        }
        if (nbytes < TO_THE_END) {
            throw new IllegalArgumentException("a storage cannot have " + nbytes + " bytes");
        }
        if (nbytes > Long.MAX_VALUE - offset) {
            throw new IllegalArgumentException(
                    nbytes + " bytes from byte " + offset + " on end after byte 2^63-1; no file is that long");
        }
    }

    /// {@return the range of all bytes of a file}
    public static ByteRange whole() {
        return new ByteRange(0, TO_THE_END);
    }

    /// {@return the range of the first bytes of a file}
    ///
    /// @param nbytes the number of bytes, 0 or more
    /// @throws IllegalArgumentException if the number is negative
    public static ByteRange bytes(long nbytes) {
        if (nbytes < 0) {
            throw new IllegalArgumentException("a storage cannot have " + nbytes + " bytes");
        }
        return new ByteRange(0, nbytes);
    }

    /// {@return the range of the first elements of a file}
    ///
    /// @param dtype the type of the elements
    /// @param size the number of elements, 0 or more
    /// @throws IllegalArgumentException if the number is negative, or the size in bytes is more than 2^63-1
    public static ByteRange elements(DType dtype, long size) {
        try {
            return bytes(dtype.nbytes(size));
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    /// {@return a range of the same size from another offset; a range to the end of the file keeps its end}
    ///
    /// @param start the offset of the first byte, which need not be a multiple of the page size
    /// @throws IllegalArgumentException as the constructor
    @CheckReturnValue
    public ByteRange from(long start) {
        return new ByteRange(start, nbytes);
    }

    /// Returns whether the size is given.
    boolean isBounded() {
        return nbytes != TO_THE_END;
    }

    /// The end of the range, if the size is given.
    long end() {
        return offset + nbytes;
    }

    /// This run in a file of some size: bounded, but not always inside.
    ByteRange of(long fileSize) {
        return isBounded() ? this : new ByteRange(offset, Math.max(0, fileSize - offset));
    }
}
