package io.undercroft.storage.internal;

import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/// The dimensions of two layouts of one shape, for dividing their elements into tiles of two dimensions that have short
/// steps in both.
///
/// Dimensions that are one inside the other without a gap in both layouts are joined first, so that there are as few
/// and as long runs as the strides allow. Dimension 0 is then the one with the shortest steps in the target, and
/// dimension 1 that with the shortest ones in the source; where these are two, as in a transpose, square tiles use each
/// fetched cache line whole. This needs a few numbers for each dimension, for any size.
final class Tiles {
    private final long[] sizes;
    private final long[] sourceStrides;
    private final long[] targetStrides;

    private Tiles(long[] sizes, long[] sourceStrides, long[] targetStrides) {
        this.sizes = sizes;
        this.sourceStrides = sourceStrides;
        this.targetStrides = targetStrides;
    }

    /// Returns the tiles of two layouts.
    ///
    /// @param sizes size in each dimension, none of them 0
    /// @param source strides of the source, in elements
    /// @param target strides of the target, in elements
    static Tiles of(long[] sizes, long[] source, long[] target) {
        Integer[] order = new Integer[sizes.length];
        Arrays.setAll(order, d -> d);
        Arrays.sort(order, Comparator.<Integer>comparingLong(d -> target[d]).thenComparingLong(d -> source[d]));
        long[][] dims = {ones(sizes.length), ones(sizes.length), ones(sizes.length)};
        int rank = 0;
        for (int d : order) {
            if (sizes[d] == 1) {
                continue;
            }
            int last = rank - 1;
            if (rank > 0 && source[d] == dims[0][last] * dims[1][last]
                    && target[d] == dims[0][last] * dims[2][last]) {
                dims[0][last] *= sizes[d];
                continue;
            }
            dims[0][rank] = sizes[d];
            dims[1][rank] = source[d];
            dims[2][rank] = target[d];
            rank++;
        }
        int length = Math.max(rank, 2);
        Tiles tiles = new Tiles(Arrays.copyOf(dims[0], length), Arrays.copyOf(dims[1], length),
                Arrays.copyOf(dims[2], length));
        tiles.bringForward(rank);
        return tiles;
    }

    private static long[] ones(int rank) {
        long[] ones = new long[Math.max(rank, 2)];
        Arrays.fill(ones, 1);
        return ones;
    }

    /// Makes the dimension with the shortest steps in the source the second, if it is not the first.
    private void bringForward(int rank) {
        int shortest = 0;
        for (int d = 1; d < rank; d++) {
            shortest = sourceStrides[d] < sourceStrides[shortest] ? d : shortest;
        }
        if (shortest > 1) {
            swap(sizes, shortest);
            swap(sourceStrides, shortest);
            swap(targetStrides, shortest);
        }
    }

    private static void swap(long[] values, int other) {
        long second = values[1];
        values[1] = values[other];
        values[other] = second;
    }

    /// {@return the size of a dimension}
    ///
    /// @param dim 0 or 1
    long size(int dim) {
        return sizes[dim];
    }

    /// {@return the step of a dimension in the source, in elements}
    ///
    /// @param dim 0 or 1
    long sourceStride(int dim) {
        return sourceStrides[dim];
    }

    /// {@return the step of a dimension in the target, in elements}
    ///
    /// @param dim 0 or 1
    long targetStride(int dim) {
        return targetStrides[dim];
    }

    /// {@return whether elements next to each other in the one are so in the other: dimension 0 is made of runs}
    boolean haveRuns() {
        return sourceStrides[0] == 1 && targetStrides[0] == 1;
    }

    /// {@return whether the shortest steps are along different dimensions}
    boolean areCrossed() {
        return sizes[1] > 1 && sourceStrides[1] < sourceStrides[0];
    }

    /// {@return whether dimension 1 is made of runs in the source, and dimension 0 in the target}
    boolean areTransposed() {
        return areCrossed() && sourceStrides[1] == 1 && targetStrides[0] == 1;
    }

    /// {@return whether no two elements of the target share a place, so that their order does not matter} False may
    /// also mean that this is unknown.
    boolean areApartInTarget() {
        long extent = 1;
        for (int d : byTargetStride()) {
            if (targetStrides[d] < extent) {
                return false;
            }
            extent += (sizes[d] - 1) * targetStrides[d];
        }
        return true;
    }

    private int[] byTargetStride() {
        return IntStream.range(0, sizes.length).filter(d -> sizes[d] > 1).boxed()
                .sorted(Comparator.comparingLong(d -> targetStrides[d])).mapToInt(d -> d).toArray();
    }

    /// {@return these layouts, cut to tiles}
    ///
    /// @param width the most that a tile has in dimension 0
    /// @param height the most that a tile has in dimension 1
    Grid cut(long width, long height) {
        return new Grid(sizes, sourceStrides, targetStrides, width, height);
    }
}
