package io.undercroft.mmap;

import io.undercroft.storage.CheckReturnValue;
import io.undercroft.storage.DType;
import java.io.Serializable;

/// A run of bytes of a file: all of it, so many bytes, so many elements, each from the start or from somewhere else.
///
/// @param offset where it starts, in bytes
/// @param nbytes its size in bytes, or [#TO_THE_END]
public record ByteRange(long offset, long nbytes) implements Serializable {
    /// Instead of a size: as many bytes as there are.
    public static final long TO_THE_END = -1;

    private static final long serialVersionUID = 1L;

    /// Checks the numbers. Whether the file is that long is checked when it is mapped.
    ///
    /// @throws IllegalArgumentException if one is negative, or they add up to more than 2^63-1
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

    /// {@return all bytes}
    public static ByteRange whole() {
        return new ByteRange(0, TO_THE_END);
    }

    /// {@return the first bytes}
    ///
    /// @param nbytes how many, 0 or more
    /// @throws IllegalArgumentException if the number is negative
    public static ByteRange bytes(long nbytes) {
        if (nbytes < 0) {
            throw new IllegalArgumentException("a storage cannot have " + nbytes + " bytes");
        }
        return new ByteRange(0, nbytes);
    }

    /// {@return the bytes of the first elements}
    ///
    /// @param dtype their type
    /// @param size how many, 0 or more
    /// @throws IllegalArgumentException if the number is negative, or its bytes are more than 2^63-1
    public static ByteRange elements(DType dtype, long size) {
        try {
            return bytes(dtype.nbytes(size));
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    /// {@return a run of the same size that starts elsewhere; of [#whole], what is left from there on}
    ///
    /// @param start where it starts, in bytes; any, not only page boundaries
    /// @throws IllegalArgumentException as the constructor
    @CheckReturnValue
    public ByteRange from(long start) {
        return new ByteRange(start, nbytes);
    }

    /// Returns whether the size is given.
    boolean isBounded() {
        return nbytes != TO_THE_END;
    }

    /// Where it ends, if the size is given.
    long end() {
        return offset + nbytes;
    }

    /// This run in a file of some size: bounded, but not always inside.
    ByteRange of(long fileSize) {
        return isBounded() ? this : new ByteRange(offset, Math.max(0, fileSize - offset));
    }
}
