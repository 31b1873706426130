package io.undercroft.storage;

import java.util.Arrays;

/// Works out the sizes and strides of [Tensor#view].
///
/// The old dimensions are taken in blocks, from the innermost on: a dimension joins the block inside it when one step
/// along it is as large as the whole block, so that the elements of a block lie at equal distances. The new
/// dimensions must fill these blocks one after another; only then is a copy not needed. This is the rule that PyTorch
/// documents for `view`.
final class ViewStrides {
    private ViewStrides() {}

    /// Returns the sizes of a view of `numel` elements, with -1 replaced by the size that is missing, as a [Geometry]
    /// whose strides are still 0.
    static long[] inferSize(long[] sizes, long numel) {
        long[] inferred = Arrays.copyOf(sizes, 2 * sizes.length);
        int unknown = -1;
        for (int d = 0; d < sizes.length; d++) {
            if (sizes[d] == -1) {
                if (unknown >= 0) {
                    throw new IllegalArgumentException(
                            "only one size may be -1, not two as in " + Arrays.toString(sizes));
                }
                unknown = d;
                inferred[d] = 1;
            }
        }
        long known = Geometry.numel(inferred);
        if (unknown >= 0 && known == 0) {
            throw new IllegalArgumentException("the size -1 in " + Arrays.toString(sizes) + " could be anything");
        }
        if (unknown >= 0) {
            inferred[unknown] = numel / known;
            known *= inferred[unknown];
        }
        if (known != numel) {
            throw new IllegalArgumentException(
                    "the shape " + Arrays.toString(sizes) + " does not fit " + numel + " elements");
        }
        return inferred;
    }

    /// Fills in the strides that show old elements in new sizes, if there are such strides.
    ///
    /// @param old the old geometry
    /// @param wanted the new geometry, whose strides are computed, of as many elements; undefined if that fails
    /// @param numel the number of elements
    /// @return whether it can be done without a copy
    static boolean fit(long[] old, long[] wanted, long numel) {
        int oldRank = Geometry.rank(old);
        int rank = Geometry.rank(wanted);
        if (numel == 0) {
            fillEmpty(old, wanted);
            return true;
        }
        Arrays.fill(wanted, rank, wanted.length, 1);
        int next = rank - 1;
        int d = oldRank - 1;
        while (d >= 0) {
            long blockStride = old[oldRank + d];
            long blockSize = old[d];
            d--;
            while (d >= 0 && (old[d] == 1 || old[oldRank + d] == blockSize * blockStride)) {
                blockSize *= old[d];
                d--;
            }
            long filled = 1;
            while (next >= 0 && (filled < blockSize || wanted[next] == 1)) {
                wanted[rank + next] = filled * blockStride;
                filled *= wanted[next];
                next--;
            }
            if (filled != blockSize) {
                return false;
            }
        }
        return true;
    }

    /// Without elements, equal sizes keep their strides, and others lie in row-major order.
    private static void fillEmpty(long[] old, long[] wanted) {
        int rank = Geometry.rank(wanted);
        boolean same = rank == Geometry.rank(old) && Arrays.equals(old, 0, rank, wanted, 0, rank);
        long[] strides = same ? Geometry.strides(old) : Geometry.shape(wanted).contiguousStride();
        System.arraycopy(strides, 0, wanted, rank, rank);
    }
}
