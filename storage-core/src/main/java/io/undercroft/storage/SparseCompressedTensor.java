package io.undercroft.storage;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/// A sparse tensor in a compressed layout: CSR, CSC, BSR or BSC. The counterpart of `torch.sparse_compressed_tensor`,
/// with the same invariants.
///
/// Row `r` of a CSR tensor has the entries from `compressedIndices[r]`, inclusive, to `compressedIndices[r + 1]`,
/// exclusive; entry `k` is in column `plainIndices[k]` and has the value `values[k]`. CSC is the same with rows and
/// columns exchanged. In BSR and BSC, a value is a block of two dimensions, and indices count blocks. Each batch has
/// separate indices and values; all batches have the same number of them.
///
/// @param layout CSR, CSC, BSR or BSC
/// @param compressedIndices int64 or int32, of shape (batch …, rows + 1); columns for CSC and BSC
/// @param plainIndices of the same dtype, of shape (batch …, nnz): the columns; rows for CSC and BSC
/// @param values of shape (batch …, nnz, two sizes of a block in BSR and BSC, dense dimensions …)
/// @param shape sizes of the batch dimensions, of rows and columns, and of the dense dimensions
public record SparseCompressedTensor(Layout layout, Tensor compressedIndices, Tensor plainIndices, Tensor values,
        Shape shape) implements SparseTensor {
    /// Checks the components, but reads no elements.
    ///
    /// @throws IllegalArgumentException if dtypes, sizes or devices do not match, or the layout is not one of the four
    public SparseCompressedTensor {
        Objects.requireNonNull(values, "values");
        if (!layout.isCompressed()) {
            throw new IllegalArgumentException(layout + " is not a compressed layout");
        }
        checkIndices(compressedIndices, plainIndices);
        CompressedGeometry.of(layout, compressedIndices, plainIndices, values, shape);
    }

    @Override
    public List<Tensor> components() {
        return List.of(compressedIndices, plainIndices, values);
    }

    @Override
    public long nnz() {
        return plainIndices.size(-1);
    }

    /// {@return 2: rows and columns}
    @Override
    public int sparseDim() {
        return 2;
    }

    @Override
    public int denseDim() {
        return shape.rank() - batchDim() - 2;
    }

    /// {@return the number of batch dimensions}
    public int batchDim() {
        return plainIndices.dim() - 1;
    }

    @Override
    public void validate() {
        if (!device().isMeta()) {
            forEachEntry((batch, row, column, k) -> {});
        }
    }

    @Override
    public Tensor toDense() {
        validate();
        Tensor dense = Tensors.zerosLike(values, dtype(), shape);
        if (!device().isMeta() && dense.numel() > 0 && values.numel() > 0) {
            addTo(dense);
        }
        return dense;
    }

    private void addTo(Tensor dense) {
        CompressedGeometry geometry = geometry();
        long blockRows = geometry.blockRows();
        long blockColumns = geometry.blockColumns();
        DenseParts from = DenseParts.of(values, geometry.batches() * nnz() * blockRows * blockColumns);
        DenseParts to = DenseParts.of(dense, geometry.batches() * geometry.rows() * geometry.columns());
        forEachEntry((batch, row, column, k) -> {
            for (long i = 0; i < blockRows; i++) {
                for (long j = 0; j < blockColumns; j++) {
                    long atRow = batch * geometry.rows() + row * blockRows + i;
                    long entry = (batch * nnz() + k) * blockRows + i;
                    to.add(atRow * geometry.columns() + column * blockColumns + j, from, entry * blockColumns + j);
                }
            }
        });
    }

    private CompressedGeometry geometry() {
        return CompressedGeometry.of(layout, compressedIndices, plainIndices, values, shape);
    }

    /// An action on entry `k` of a batch, which is in a row and a column of blocks.
    @FunctionalInterface
    private interface Visitor {
        void visit(long batch, long row, long column, long k);
    }

    /// Visits all entries in the order in which they are stored, and checks every index before it is used.
    private void forEachEntry(Visitor visitor) {
        CompressedGeometry geometry = geometry();
        Tensor starts = compressedIndices.contiguous().view(geometry.batches(), geometry.compressedCount() + 1);
        Tensor places = plainIndices.contiguous().view(geometry.batches(), nnz());
        for (long batch = 0; batch < geometry.batches(); batch++) {
            checkEnds(starts.select(0, batch), batch);
            for (long c = 0; c < geometry.compressedCount(); c++) {
                long end = endOf(starts, batch, c);
                long before = -1;
                for (long k = starts.getLong(batch, c); k < end; k++) {
                    long plain = places.getLong(batch, k);
                    checkPlain(plain, before, geometry.plainCount(), batch, k);
                    before = plain;
                    boolean rows = layout.compressesRows();
                    visitor.visit(batch, rows ? c : plain, rows ? plain : c, k);
                }
            }
        }
    }

    private void checkEnds(Tensor starts, long batch) {
        if (starts.getLong(0) != 0 || starts.getLong(-1) != nnz()) {
            throw new IllegalArgumentException("the compressed indices of batch " + batch + " go from "
                    + starts.getLong(0) + " to " + starts.getLong(-1) + ", not from 0 to nnz, " + nnz());
        }
    }

    private long endOf(Tensor starts, long batch, long c) {
        long start = starts.getLong(batch, c);
        long end = starts.getLong(batch, c + 1);
        if (end < start || end > nnz()) {
            throw new IllegalArgumentException("the compressed indices of batch " + batch + " go from " + start
                    + " to " + end + " at " + c + "; they must not fall, nor exceed nnz, " + nnz());
        }
        return end;
    }

    private static void checkPlain(long plain, long before, long count, long batch, long k) {
        if (plain < 0 || plain >= count) {
            throw new IllegalArgumentException(
                    "plain index " + plain + " of entry " + k + " in batch " + batch + " is outside 0 to "
                            + (count - 1));
        }
        if (plain <= before) {
            throw new IllegalArgumentException("plain index " + plain + " of entry " + k + " in batch " + batch
                    + " is after " + before + "; they must ascend");
        }
    }

    private static void checkIndices(Tensor compressed, Tensor plain) {
        DType dtype = plain.dtype();
        if (!dtype.equals(compressed.dtype()) || !(dtype.equals(DType.INT64) || dtype.equals(DType.INT32))) {
            throw new IllegalArgumentException("compressed and plain indices are both int64 or both int32, not "
                    + compressed.dtype().name() + " and " + dtype.name());
        }
        int batchDim = plain.dim() - 1;
        boolean sameBatches = batchDim >= 0 && compressed.dim() == plain.dim() && Arrays.equals(
                compressed.shape().toArray(), 0, batchDim, plain.shape().toArray(), 0, batchDim);
        if (!sameBatches) {
            throw new IllegalArgumentException("compressed indices of shape " + compressed.shape()
                    + " and plain indices of shape " + plain.shape() + " have not the same batch dimensions");
        }
    }
}
