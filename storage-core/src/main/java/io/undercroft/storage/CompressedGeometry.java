package io.undercroft.storage;

import java.util.Arrays;

/// The sizes of a [SparseCompressedTensor] by their meaning.
///
/// @param batches the number of batches
/// @param rows rows of elements
/// @param columns columns of elements
/// @param blockRows rows of elements in a block
/// @param blockColumns columns of elements in a block
/// @param compressedCount rows of blocks, or columns for CSC and BSC
/// @param plainCount columns of blocks, or rows for CSC and BSC
record CompressedGeometry(long batches, long rows, long columns, long blockRows, long blockColumns,
        long compressedCount, long plainCount) {
    /// Checks the shapes against each other: PyTorch's invariants of the compressed layouts, and two that it lets pass,
    /// that values have the dense sizes of the shape and that blocks have elements.
    ///
    /// @throws IllegalArgumentException if they do not fit together, or the components are on several devices
    static CompressedGeometry of(Layout layout, Tensor compressed, Tensor plain, Tensor values, Shape shape) {
        int batch = plain.dim() - 1;
        checkDevices(compressed, plain, values);
        checkValues(layout, plain, values, shape);
        long blockRows = layout.isBlocked() ? values.size(batch + 1) : 1;
        long blockColumns = layout.isBlocked() ? values.size(batch + 2) : 1;
        long rows = shape.size(batch);
        long columns = shape.size(batch + 1);
        if (blockRows == 0 || blockColumns == 0 || rows % blockRows != 0 || columns % blockColumns != 0) {
            throw new IllegalArgumentException("blocks of " + blockRows + " rows and " + blockColumns
                    + " columns do not fill " + rows + " rows and " + columns + " columns");
        }
        boolean byRows = layout.compressesRows();
        long compressedCount = byRows ? rows / blockRows : columns / blockColumns;
        long plainCount = byRows ? columns / blockColumns : rows / blockRows;
        if (compressed.size(-1) - 1 != compressedCount) {
            throw new IllegalArgumentException(compressed.size(-1) + " compressed indices for " + compressedCount
                    + (byRows ? " rows" : " columns") + ", which need one more than their number");
        }
        long batches = Shape.of(Arrays.copyOf(shape.toArray(), batch)).numel();
        return new CompressedGeometry(batches, rows, columns, blockRows, blockColumns, compressedCount, plainCount);
    }

    private static void checkDevices(Tensor compressed, Tensor plain, Tensor values) {
        if (!compressed.device().equals(values.device()) || !plain.device().equals(values.device())) {
            throw new IllegalArgumentException("indices on " + compressed.device() + " and " + plain.device()
                    + " for values on " + values.device());
        }
    }

    private static void checkValues(Layout layout, Tensor plain, Tensor values, Shape shape) {
        int batch = plain.dim() - 1;
        int entry = batch + 1 + (layout.isBlocked() ? 2 : 0);
        int dense = values.dim() - entry;
        long[] sizes = shape.toArray();
        long[] parts = values.shape().toArray();
        boolean fits = dense >= 0 && sizes.length == batch + 2 + dense
                && Arrays.equals(parts, 0, batch + 1, plain.shape().toArray(), 0, batch + 1)
                && Arrays.equals(parts, 0, batch, sizes, 0, batch)
                && Arrays.equals(parts, entry, parts.length, sizes, batch + 2, sizes.length);
        if (!fits) {
            throw new IllegalArgumentException("values of shape " + values.shape() + " and plain indices of shape "
                    + plain.shape() + " do not make a tensor of layout " + layout + " and shape " + shape);
        }
    }
}
