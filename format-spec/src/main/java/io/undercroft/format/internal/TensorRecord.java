package io.undercroft.format.internal;

import java.util.Arrays;
import java.util.Objects;
import java.util.Set;

/// One tensor: a strided window on a storage. Immutable.
///
/// @param dtype the number of its element type
/// @param storage the number of its storage
/// @param byteOffset the offset of element 0 in the storage, in bytes
/// @param bitOffset the bit of that byte at which it starts, from 0 to 7; the least significant bit of a byte is the
///     first
/// @param flags its flags
/// @param shape the size of each dimension, outermost first, in elements
/// @param stride the step of each dimension, in elements; negative only with [TensorFlag#REVERSED]
@SuppressWarnings("ArrayRecordComponent")
public record TensorRecord(int dtype, int storage, long byteOffset, int bitOffset, Set<TensorFlag> flags, long[] shape,
        long[] stride) {
    /// Copies what can change, and checks the rest.
    ///
    /// @throws IllegalArgumentException if shape and stride differ in length, if anything else is negative, or if the
    ///     flag is there without a negative stride
    public TensorRecord {
        flags = Set.copyOf(flags);
        shape = shape.clone();
        stride = stride.clone();
        if (shape.length != stride.length) {
            throw new IllegalArgumentException(shape.length + " sizes but " + stride.length + " strides");
        }
        if (bitOffset < 0 || bitOffset > 7) {
            throw new IllegalArgumentException("bit offset " + bitOffset + " is not in 0..7");
        }
        if (hasNegative(stride) != flags.contains(TensorFlag.REVERSED)) {
            throw new IllegalArgumentException(
                    "strides and the flag REVERSED contradict each other: " + Arrays.toString(stride));
        }
        if (hasNegative(shape) || dtype < 0 || storage < 0 || byteOffset < 0) {
            throw new IllegalArgumentException("a tensor with a negative size, number or offset");
        }
    }

    /// A tensor that starts at a whole byte.
    ///
    /// @throws IllegalArgumentException as for any other tensor
    public TensorRecord(int dtype, int storage, long byteOffset, Set<TensorFlag> flags, long[] shape, long[] stride) {
        this(dtype, storage, byteOffset, 0, flags, shape, stride);
    }

    private static boolean hasNegative(long[] numbers) {
        for (long number : numbers) {
            if (number < 0) {
                return true;
            }
        }
        return false;
    }

    /// {@return the number of dimensions}
    public int rank() {
        return shape.length;
    }

    /// {@return the size of each dimension, in elements, in a fresh array}
    @Override
    public long[] shape() {
        return shape.clone();
    }

    /// {@return the step of each dimension, in elements, in a fresh array}
    @Override
    public long[] stride() {
        return stride.clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof TensorRecord that && dtype == that.dtype && storage == that.storage
                && byteOffset == that.byteOffset && bitOffset == that.bitOffset && flags.equals(that.flags)
                && Arrays.equals(shape, that.shape) && Arrays.equals(stride, that.stride);
    }

    @Override
    public int hashCode() {
        return Objects.hash(dtype, storage, byteOffset, bitOffset, flags, Arrays.hashCode(shape),
                Arrays.hashCode(stride));
    }

    @Override
    public String toString() {
        return "tensor of dtype " + dtype + " on storage " + storage + " from byte " + byteOffset + " bit " + bitOffset
                + ", shape " + Arrays.toString(shape) + ", stride " + Arrays.toString(stride) + ", " + flags;
    }
}
