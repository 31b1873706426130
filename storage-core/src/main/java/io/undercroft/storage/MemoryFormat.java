package io.undercroft.storage;

import java.util.Arrays;

/// The order of the dimensions of a tensor in memory (`torch.memory_format`). The shape stays the same; only the
/// strides differ.
public enum MemoryFormat {
    /// Row-major: the last dimension is innermost. For tensors of any shape.
    CONTIGUOUS(-1),
    /// Images `[batch, channel, height, width]` with the channels innermost.
    CHANNELS_LAST(4),
    /// Volumes `[batch, channel, depth, height, width]` with the channels innermost.
    CHANNELS_LAST_3D(5);

    private final int rank;

    MemoryFormat(int rank) {
        this.rank = rank;
    }

    /// Returns the strides, in elements, of a tensor without gaps in this order. Sizes of 0 count as 0, except for
    /// [#CONTIGUOUS], where they count as 1; both as in PyTorch.
    ///
    /// @throws IllegalArgumentException if the format is for another number of dimensions, or a stride does not fit a
    ///     `long`
    long[] stride(Shape shape) {
        if (this == CONTIGUOUS) {
            return shape.contiguousStride();
        }
        if (!fits(shape.rank())) {
            throw new IllegalArgumentException(
                    this + " is for " + rank + " dimensions, not for the shape " + shape);
        }
        int[] order = order();
        long[] stride = new long[rank];
        long step = 1;
        for (int i = rank - 1; i >= 0; i--) {
            stride[order[i]] = step;
            step = i == 0 ? step : Shape.times(step, shape.size(order[i]), shape);
        }
        return stride;
    }

    /// Returns whether tensors with a number of dimensions can have this format.
    boolean fits(int dimensions) {
        return this == CONTIGUOUS || dimensions == rank;
    }

    /// Returns the dimensions from the outermost to the innermost, of the formats whose channels, dimension 1, lie
    /// innermost.
    int[] order() {
        int[] order = new int[rank];
        Arrays.setAll(order, i -> i == 0 ? 0 : i == rank - 1 ? 1 : i + 1);
        return order;
    }
}
