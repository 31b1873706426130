package io.undercroft.serializer.internal.sets;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.SlicedTensor;
import io.undercroft.storage.Device;
import java.util.Arrays;

/// A box of a tensor that is to be read.
///
/// @param tensor the tensor
/// @param box the box
/// @param device where to
public record Wanted(SlicedTensor tensor, Box box, Device device) {
    /// A box of a tensor.
    ///
    /// @param tensor the tensor
    /// @param offset the first element, in each dimension
    /// @param size how many, in each dimension
    /// @param device where to
    /// @return what is wanted
    /// @throws IndexOutOfBoundsException if the box is not inside the tensor
    public static Wanted of(SlicedTensor tensor, long[] offset, long[] size, Device device) {
        long[] shape = tensor.shape();
        boolean isInside = offset.length == shape.length && size.length == shape.length;
        for (int dim = 0; isInside && dim < shape.length; dim++) {
            isInside = offset[dim] >= 0 && size[dim] >= 0 && size[dim] <= shape[dim]
                    && offset[dim] <= shape[dim] - size[dim];
        }
        if (!isInside) {
            throw new IndexOutOfBoundsException("the slice of the shape " + Arrays.toString(size) + " at "
                    + Arrays.toString(offset) + " is not inside the tensor " + FormatException.quote(tensor.name())
                    + " of the shape " + Arrays.toString(shape));
        }
        return new Wanted(tensor, new Box(offset.clone(), size.clone()), device);
    }

    /// A whole tensor.
    ///
    /// @param tensor the tensor
    /// @param device where to
    /// @return what is wanted
    public static Wanted all(SlicedTensor tensor, Device device) {
        return new Wanted(tensor, Box.all(tensor.shape()), device);
    }

    boolean isEmpty() {
        return Arrays.stream(box.size()).anyMatch(size -> size == 0);
    }
}
