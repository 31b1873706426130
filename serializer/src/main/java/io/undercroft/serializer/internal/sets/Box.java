package io.undercroft.serializer.internal.sets;

import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

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

    /// {@return whether it is a box of a tensor}
    ///
    /// @param shape the sizes of the tensor
    boolean isIn(long[] shape) {
        return offset.length == shape.length && size.length == shape.length && IntStream.range(0, shape.length)
                .allMatch(dim -> offset[dim] >= 0 && size[dim] >= 0 && size[dim] <= shape[dim]
                        && offset[dim] <= shape[dim] - size[dim]);
    }

    /// {@return the same elements, counted from the first of another box}
    Box from(Box other) {
        long[] from = new long[offset.length];
        Arrays.setAll(from, dim -> offset[dim] - other.offset[dim]);
        return new Box(from, size);
    }

    boolean isEmpty() {
        return Arrays.stream(size).anyMatch(each -> each == 0);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Box box && Arrays.equals(offset, box.offset) && Arrays.equals(size, box.size);
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(offset) + Arrays.hashCode(size);
    }

    Shape shape() {
        return Shape.of(size);
    }

    @Override
    public String toString() {
        return Arrays.toString(size) + " at " + Arrays.toString(offset);
    }
}
