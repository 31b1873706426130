package io.undercroft.serializer.internal.sets;

import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.util.Arrays;
import java.util.Optional;

/// A box of the elements of a tensor.
///
/// @param offset the first element, in each dimension
/// @param size the number of elements in each dimension
@SuppressWarnings("ArrayRecordComponent")
record Box(long[] offset, long[] size) {
    /// {@return all elements of a shape}
    static Box all(long[] shape) {
        return new Box(new long[shape.length], shape);
    }

    /// {@return the elements that are in both, or nothing if there are none}
    Optional<Box> intersect(Box other) {
        long[] from = new long[offset.length];
        long[] common = new long[offset.length];
        for (int dim = 0; dim < from.length; dim++) {
            from[dim] = Math.max(offset[dim], other.offset[dim]);
            common[dim] = Math.min(offset[dim] + size[dim], other.offset[dim] + other.size[dim]) - from[dim];
            if (common[dim] <= 0) {
                return Optional.empty();
            }
        }
        return Optional.of(new Box(from, common));
    }

    /// {@return the part of a tensor that has these elements}
    ///
    /// @param tensor a tensor that has the elements of another box
    /// @param whole that box
    Tensor in(Tensor tensor, Box whole) {
        Tensor view = tensor;
        for (int dim = 0; dim < offset.length; dim++) {
            if (size[dim] != whole.size[dim]) {
                view = view.narrow(dim, offset[dim] - whole.offset[dim], size[dim]);
            }
        }
        return view;
    }

    /// {@return whether both are the same elements}
    boolean isSame(Box other) {
        return Arrays.equals(offset, other.offset) && Arrays.equals(size, other.size);
    }

    Shape shape() {
        return Shape.of(size);
    }

    @Override
    public String toString() {
        return Arrays.toString(size) + " at " + Arrays.toString(offset);
    }
}
