package io.undercroft.storage;

/// Sorts by merging ever longer runs, in tensors, so that nothing stops at what an array can hold.
final class StableSort {
    private StableSort() {}

    /// The order in which keys ascend; equal ones keep theirs.
    ///
    /// @param keys a vector of int64
    /// @return for each place in the order, the index of its key
    static Tensor order(Tensor keys) {
        long count = keys.numel();
        Tensor sorted = Tensor.zeros(DType.INT64, count);
        for (long i = 0; i < count; i++) {
            sorted.setLong(i, i);
        }
        Tensor spare = Tensor.zeros(DType.INT64, count);
        for (long run = 1; run < count; run *= 2) {
            for (long start = 0; start < count; start += 2 * run) {
                merge(keys, sorted, spare, start, Math.min(start + run, count), Math.min(start + 2 * run, count));
            }
            Tensor swapped = sorted;
            sorted = spare;
            spare = swapped;
        }
        return sorted;
    }

    /// Merges the runs from `start` to `middle` and from there to `end`.
    private static void merge(Tensor keys, Tensor from, Tensor to, long start, long middle, long end) {
        long left = start;
        long right = middle;
        for (long i = start; i < end; i++) {
            boolean takeLeft = right == end || (left < middle
                    && keys.getLong(from.getLong(left)) <= keys.getLong(from.getLong(right)));
            to.setLong(i, from.getLong(takeLeft ? left++ : right++));
        }
    }
}
