package io.undercroft.interop.internal.numpy;

import io.undercroft.storage.Shape;
import java.util.Arrays;

/// The elements of an array, which are one after the other without gaps.
public final class ArrayLayout {
    private final NumpyType type;
    private final Shape shape;
    /// The dimensions, the one with the largest steps first.
    private final int[] axes;

    private ArrayLayout(NumpyType type, Shape shape, int[] axes) {
        this.type = type;
        this.shape = shape;
        this.axes = axes;
    }

    /// {@return elements in row-major or column-major order}
    ///
    /// @param type their type
    /// @param shape the sizes of the array
    /// @param isFortran whether they are in column-major order
    public static ArrayLayout of(NumpyType type, Shape shape, boolean isFortran) {
        int rank = shape.rank();
        int[] axes = new int[rank];
        Arrays.setAll(axes, i -> isFortran ? rank - 1 - i : i);
        return new ArrayLayout(type, shape, axes);
    }

    /// {@return elements in row-major order of an array that was transposed then}
    ///
    /// @param type their type
    /// @param before the sizes before
    /// @param order which dimension became the first one, the second one and so on
    /// @throws IllegalArgumentException if these are not all dimensions
    public static ArrayLayout transposed(NumpyType type, Shape before, long[] order) {
        int rank = before.rank();
        int[] axes = new int[rank];
        Arrays.fill(axes, -1);
        long[] sizes = new long[rank];
        for (int dim = 0; dim < order.length; dim++) {
            if (order.length != rank || order[dim] < 0 || order[dim] >= rank || axes[(int) order[dim]] >= 0) {
                throw new IllegalArgumentException(
                        Arrays.toString(order) + " is no order of the dimensions of " + before);
            }
            axes[(int) order[dim]] = dim;
            sizes[dim] = before.size((int) order[dim]);
        }
        return new ArrayLayout(type, Shape.of(sizes), axes);
    }

    /// {@return the type of the elements}
    public NumpyType type() {
        return type;
    }

    /// {@return the sizes of the array}
    public Shape shape() {
        return shape;
    }

    /// {@return whether the elements are in column-major order, and that is another one than row-major order}
    public boolean isFortran() {
        for (int i = 0; i < axes.length; i++) {
            if (axes[i] != axes.length - 1 - i) {
                return false;
            }
        }
        return axes.length > 1;
    }

    /// {@return the bytes of all elements}
    ///
    /// @throws ArithmeticException if that is more than 2^63-1
    public long nbytes() {
        return Math.multiplyExact(type.itemsize(), shape.numel());
    }

    /// {@return the strides of the array, in its elements}
    ///
    /// @throws ArithmeticException if one is more than 2^63-1
    public long[] stride() {
        long[] stride = new long[axes.length];
        long step = 1;
        for (int i = axes.length - 1; i >= 0; i--) {
            stride[axes[i]] = step;
            step = i == 0 ? step : Math.multiplyExact(step, Math.max(shape.size(axes[i]), 1));
        }
        return stride;
    }
}
