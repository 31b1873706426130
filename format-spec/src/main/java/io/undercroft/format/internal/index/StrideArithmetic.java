package io.undercroft.format.internal.index;

/// Arithmetic on shapes and strides. All of it is exact.
public final class StrideArithmetic {
    /// The largest storage, in bytes: its size in bits still fits.
    public static final long MAX_NBYTES = (1L << 60) - 1;

    private StrideArithmetic() {}

    /// {@return whether the number of elements fits in a `long`; a size of 0 anywhere makes it 0}
    public static boolean isCountable(long[] shape) {
        if (isEmpty(shape)) {
            return true;
        }
        try {
            long count = 1;
            for (long size : shape) {
                count = Math.multiplyExact(count, size);
            }
            return true;
        } catch (ArithmeticException e) {
            return false;
        }
    }

    /// {@return whether an element starts at a place of a storage, which is whole elements from its start}
    ///
    /// @param byteOffset the byte
    /// @param bitOffset the bit of that byte, from 0 to 7
    /// @param bits the size of an element in bits
    public static boolean isStartOfElement(long byteOffset, int bitOffset, int bits) {
        // Not 8 times the bytes, which may exceed the range of `long`.
        return (byteOffset % bits * Byte.SIZE + bitOffset) % bits == 0;
    }

    /// {@return whether every element of a tensor is inside its storage} A tensor without elements may have any offset.
    ///
    /// @param shape sizes, not negative
    /// @param stride strides in elements; with negative ones, elements are before element 0
    /// @param bits the size of an element in bits
    /// @param byteOffset the offset of element 0 in the storage
    /// @param bitOffset the bit of that byte at which it starts
    /// @param nbytes the size of the storage, at most [#MAX_NBYTES]
    public static boolean fits(long[] shape, long[] stride, int bits, long byteOffset, int bitOffset,
            long nbytes) {
        if (isEmpty(shape)) {
            return true;
        }
        try {
            long low = 0;
            long high = 0;
            for (int dim = 0; dim < shape.length; dim++) {
                long reach = Math.multiplyExact(shape[dim] - 1, stride[dim]);
                low = Math.addExact(low, Math.min(reach, 0));
                high = Math.addExact(high, Math.max(reach, 0));
            }
            long start = Math.addExact(Math.multiplyExact(byteOffset, 8), bitOffset);
            long first = Math.addExact(start, Math.multiplyExact(low, bits));
            long end = Math.addExact(start, Math.multiplyExact(Math.addExact(high, 1), bits));
            return first >= 0 && end <= nbytes * 8;
        } catch (ArithmeticException e) {
            return false;
        }
    }

    private static boolean isEmpty(long[] shape) {
        for (long size : shape) {
            if (size == 0) {
                return true;
            }
        }
        return false;
    }
}
