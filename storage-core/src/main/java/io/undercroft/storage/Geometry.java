package io.undercroft.storage;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/// Arithmetic on the sizes and strides of a tensor, which are kept in one array: first the sizes, then the strides.
///
/// One array instead of two, and no objects around it, keep a view at two allocations. The arrays are never changed
/// once a tensor holds them.
final class Geometry {
    private Geometry() {}

    /// Returns the geometry of given sizes and strides.
    static long[] of(Shape shape, long[] stride) {
        int rank = shape.rank();
        if (stride.length != rank) {
            throw new IllegalArgumentException(stride.length + " strides for the shape " + shape);
        }
        long[] geometry = new long[2 * rank];
        for (int d = 0; d < rank; d++) {
            geometry[d] = shape.size(d);
            geometry[rank + d] = stride[d];
        }
        return geometry;
    }

    /// Returns the geometry of given sizes in row-major order.
    static long[] rowMajor(Shape shape) {
        return of(shape, shape.contiguousStride());
    }

    static int rank(long[] geometry) {
        return geometry.length / 2;
    }

    static Shape shape(long[] geometry) {
        return Shape.of(sizes(geometry));
    }

    static long[] sizes(long[] geometry) {
        return Arrays.copyOf(geometry, rank(geometry));
    }

    static long[] strides(long[] geometry) {
        return Arrays.copyOfRange(geometry, rank(geometry), geometry.length);
    }

    /// Returns the number of elements.
    ///
    /// @throws IllegalArgumentException if there are too many dimensions or elements, or a size or stride is negative
    static long numel(long[] geometry) {
        int rank = rank(geometry);
        if (rank > Shape.MAX_RANK) {
            throw new IllegalArgumentException(rank + " dimensions are more than the limit of " + Shape.MAX_RANK);
        }
        long sign = 0;
        boolean empty = false;
        for (int d = 0; d < rank; d++) {
            sign |= geometry[d] | geometry[rank + d];
            empty |= geometry[d] == 0;
        }
        if (sign < 0) {
            throw negative(geometry);
        }
        return empty ? 0 : product(geometry);
    }

    /// Returns the place of the last element, counted from the first, of a geometry that has elements.
    ///
    /// @throws ArithmeticException if that is more than 2^63-1
    static long reach(long[] geometry) {
        int rank = rank(geometry);
        long reach = 0;
        for (int d = 0; d < rank; d++) {
            reach = Math.addExact(reach, Math.multiplyExact(geometry[d] - 1, geometry[rank + d]));
        }
        return reach;
    }

    /// Returns whether the dimensions, taken from the last of `order` to the first, lie one inside the other without
    /// gaps. Dimensions of size 1 do not matter.
    ///
    /// @param order the dimensions, or null for row-major order
    static boolean isDense(long[] geometry, int @Nullable [] order) {
        int rank = rank(geometry);
        long expected = 1;
        for (int i = rank - 1; i >= 0; i--) {
            int d = order == null ? i : order[i];
            if (geometry[d] != 1) {
                if (geometry[rank + d] != expected) {
                    return false;
                }
                expected *= geometry[d];
            }
        }
        return true;
    }

    /// Returns the geometry without one dimension.
    static long[] without(long[] geometry, int dim) {
        int rank = rank(geometry);
        long[] rest = new long[geometry.length - 2];
        System.arraycopy(geometry, 0, rest, 0, dim);
        System.arraycopy(geometry, dim + 1, rest, dim, rank - 1);
        System.arraycopy(geometry, rank + dim + 1, rest, rank - 1 + dim, rank - dim - 1);
        return rest;
    }

    /// Returns the geometry with one dimension more.
    static long[] with(long[] geometry, int dim, long size, long stride) {
        int rank = rank(geometry);
        long[] more = new long[geometry.length + 2];
        System.arraycopy(geometry, 0, more, 0, dim);
        more[dim] = size;
        System.arraycopy(geometry, dim, more, dim + 1, rank);
        more[rank + 1 + dim] = stride;
        System.arraycopy(geometry, rank + dim, more, rank + dim + 2, rank - dim);
        return more;
    }

    private static long product(long[] geometry) {
        long product = 1;
        try {
            for (int d = 0; d < rank(geometry); d++) {
                product = Math.multiplyExact(product, geometry[d]);
            }
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(
                    "the shape " + Arrays.toString(sizes(geometry)) + " has more than 2^63-1 elements", e);
        }
        return product;
    }

    private static IllegalArgumentException negative(long[] geometry) {
        int rank = rank(geometry);
        for (int d = 0; d < rank; d++) {
            if (geometry[d] < 0) {
                return new IllegalArgumentException("size " + geometry[d] + " of dimension " + d + " is negative");
            }
        }
        long stride = Arrays.stream(geometry, rank, geometry.length).filter(step -> step < 0).findFirst().orElseThrow();
        return new IllegalArgumentException("the stride " + stride + " is negative");
    }
}
