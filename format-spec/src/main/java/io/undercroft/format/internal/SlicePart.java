package io.undercroft.format.internal;

/// A part of a tensor of a set: a box of its elements, and the shard that has them.
///
/// @param shard the number of the shard
/// @param offset the first element, in each dimension
/// @param size the number of elements in each dimension, at least 1
@SuppressWarnings("ArrayRecordComponent")
public record SlicePart(int shard, long[] offset, long[] size) {
    /// {@return the end, exclusive, in a dimension}
    ///
    /// @param dim the dimension
    public long end(int dim) {
        return offset[dim] + size[dim];
    }

    boolean contains(long[] element) {
        for (int dim = 0; dim < element.length; dim++) {
            if (element[dim] < offset[dim] || element[dim] >= end(dim)) {
                return false;
            }
        }
        return true;
    }
}
