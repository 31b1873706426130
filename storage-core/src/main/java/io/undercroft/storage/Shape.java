package io.undercroft.storage;

import java.util.Arrays;

/// The size of a tensor in each dimension, as `torch.Size`. Immutable.
public final class Shape {
    /// The maximum number of dimensions of a tensor.
    public static final int MAX_RANK = 64;
    /// The shape of a tensor with no dimensions and one element.
    public static final Shape SCALAR = new Shape(new long[0]);

    private final long[] sizes;
    private final long numel;

    private Shape(long[] sizes) {
        this.sizes = sizes;
        this.numel = product();
    }

    /// Creates a shape of the given sizes.
    ///
    /// @param sizes the size in each dimension, outermost first
    /// @return the shape
    /// @throws IllegalArgumentException if a size is negative, there are more than [#MAX_RANK], or the number of
    ///     elements does not fit a `long`
    public static Shape of(long... sizes) {
        if (sizes.length > MAX_RANK) {
            throw new IllegalArgumentException(sizes.length + " dimensions are more than the limit of " + MAX_RANK);
        }
        for (int dim = 0; dim < sizes.length; dim++) {
            if (sizes[dim] < 0) {
                throw new IllegalArgumentException("size " + sizes[dim] + " of dimension " + dim + " is negative");
            }
        }
        return sizes.length == 0 ? SCALAR : new Shape(sizes.clone());
    }

    /// {@return the number of dimensions}
    public int rank() {
        return sizes.length;
    }

    /// {@return the size of one dimension, in elements}
    ///
    /// @param dim the dimension, negative from the end
    /// @throws IndexOutOfBoundsException if there is no such dimension
    public long size(int dim) {
        return sizes[checkDim(dim, sizes.length)];
    }

    /// {@return the number of elements: the product of all sizes, 1 if there are no dimensions}
    public long numel() {
        return numel;
    }

    /// {@return the sizes in a new array}
    public long[] toArray() {
        return sizes.clone();
    }

    /// {@return the strides, in elements, of a tensor of this shape in row-major order} Sizes of 0 count as 1, as in
    /// PyTorch.
    ///
    /// @throws IllegalArgumentException if a stride does not fit a `long`, which is possible only for an empty shape
    public long[] contiguousStride() {
        long[] stride = new long[sizes.length];
        long step = 1;
        for (int dim = sizes.length - 1; dim >= 0; dim--) {
            stride[dim] = step;
            step = dim == 0 ? step : times(step, Math.max(sizes[dim], 1), this);
        }
        return stride;
    }

    /// Turns a dimension counted from the end into one counted from the start.
    ///
    /// @param dim from `-rank` to `rank - 1`
    /// @param rank the number of dimensions
    /// @return from 0 to `rank - 1`
    /// @throws IndexOutOfBoundsException if there is no such dimension
    static int checkDim(int dim, int rank) {
        int counted = dim < 0 ? dim + rank : dim;
        if (counted < 0 || counted >= rank) {
            throw new IndexOutOfBoundsException("dimension " + dim + " of a tensor that has " + rank);
        }
        return counted;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Shape that && Arrays.equals(sizes, that.sizes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(sizes);
    }

    /// {@return the sizes as PyTorch prints them, for instance `[2, 3]`}
    @Override
    public String toString() {
        return Arrays.toString(sizes);
    }

    private long product() {
        // A zero anywhere makes the tensor empty, whatever overflows next to it; PyTorch's order of checks is the same.
        for (long size : sizes) {
            if (size == 0) {
                return 0;
            }
        }
        long product = 1;
        for (long size : sizes) {
            product = times(product, size, this);
        }
        return product;
    }

    /// Returns a product of sizes of a shape.
    ///
    /// @throws IllegalArgumentException if it does not fit a `long`
    static long times(long product, long size, Shape shape) {
        try {
            return Math.multiplyExact(product, size);
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("the shape " + shape + " has more than 2^63-1 elements", e);
        }
    }
}
