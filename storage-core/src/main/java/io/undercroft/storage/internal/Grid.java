package io.undercroft.storage.internal;

/// Tiles of one size that cover the elements of two layouts ([Tiles]), numbered from 0 in the order of the target.
///
/// Tiles at the edges are smaller. Dimensions from 2 on have no extent in a tile; they are counted like an odometer.
final class Grid {
    /// Receives tiles, one after another.
    interface Visitor {
        /// Receives one tile.
        ///
        /// @param from position of its first element in the source, in elements
        /// @param to position of its first element in the target, in elements
        /// @param width its size in dimension 0
        /// @param height its size in dimension 1
        void visit(long from, long to, long width, long height);
    }

    private final long[] sizes;
    private final long width;
    private final long height;
    private final long[] counts;
    private final long[] sourceSteps;
    private final long[] targetSteps;

    /// Divides two layouts into tiles.
    ///
    /// @param sizes size in each dimension, at least two of them and none 0
    /// @param sourceStrides strides of the source, in elements
    /// @param targetStrides strides of the target, in elements
    /// @param width the most that a tile has in dimension 0
    /// @param height the most that a tile has in dimension 1
    Grid(long[] sizes, long[] sourceStrides, long[] targetStrides, long width, long height) {
        this.sizes = sizes;
        this.width = Math.min(width, sizes[0]);
        this.height = Math.min(height, sizes[1]);
        this.counts = sizes.clone();
        this.sourceSteps = sourceStrides.clone();
        this.targetSteps = targetStrides.clone();
        widen(0, this.width);
        widen(1, this.height);
    }

    private void widen(int dim, long extent) {
        counts[dim] = Math.ceilDiv(sizes[dim], extent);
        sourceSteps[dim] *= extent;
        targetSteps[dim] *= extent;
    }

    /// {@return the number of tiles}
    long count() {
        long count = 1;
        for (long along : counts) {
            count *= along;
        }
        return count;
    }

    /// {@return elements of a full tile}
    long tileSize() {
        return width * height;
    }

    /// Visits some adjacent tiles.
    ///
    /// @param first number of the first tile
    /// @param end number of the one after the last
    /// @param from position of the first element of tile 0 in the source, in elements
    /// @param to position of the first element of tile 0 in the target, in elements
    /// @param visitor called for each
    void forEach(long first, long end, long from, long to, Visitor visitor) {
        long[] index = new long[counts.length];
        long tileFrom = from;
        long tileTo = to;
        long rest = first;
        for (int d = 0; d < counts.length; d++) {
            index[d] = rest % counts[d];
            rest /= counts[d];
            tileFrom += index[d] * sourceSteps[d];
            tileTo += index[d] * targetSteps[d];
        }
        for (long tile = first; tile < end; tile++) {
            visitor.visit(tileFrom, tileTo, Math.min(width, sizes[0] - index[0] * width),
                    Math.min(height, sizes[1] - index[1] * height));
            for (int d = 0; d < counts.length; d++) {
                index[d]++;
                tileFrom += sourceSteps[d];
                tileTo += targetSteps[d];
                if (index[d] < counts[d]) {
                    break;
                }
                tileFrom -= index[d] * sourceSteps[d];
                tileTo -= index[d] * targetSteps[d];
                index[d] = 0;
            }
        }
    }
}
