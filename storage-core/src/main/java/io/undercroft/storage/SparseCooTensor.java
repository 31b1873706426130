package io.undercroft.storage;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/// A sparse tensor in coordinate format: each value has an index in every sparse dimension. The counterpart of
/// `torch.sparse_coo_tensor`.
///
/// @param indices int64, of shape (sparse dimensions, nnz)
/// @param values of shape (nnz, dense dimensions …)
/// @param shape sizes of the sparse dimensions, then of the dense ones
/// @param coalescence whether the indices are known to be sorted and distinct
public record SparseCooTensor(Tensor indices, Tensor values, Shape shape,
        Coalescence coalescence) implements SparseTensor {
    /// Whether the indices are known to be sorted and distinct.
    public enum Coalescence {
        /// They are in ascending row-major order, without duplicates.
        COALESCED,
        /// They may be in any order, and values of the same index are to be summed.
        UNCOALESCED
    }

    /// Checks the parts, but reads no element.
    ///
    /// @throws IllegalArgumentException if types, sizes or devices do not fit together
    public SparseCooTensor {
        Objects.requireNonNull(shape, "shape");
        Objects.requireNonNull(coalescence, "coalescence");
        checkIndices(indices, values);
        checkShape(indices, values, shape);
    }

    @Override
    public Layout layout() {
        return Layout.SPARSE_COO;
    }

    @Override
    public List<Tensor> components() {
        return List.of(indices, values);
    }

    @Override
    public long nnz() {
        return indices.size(1);
    }

    @Override
    public int sparseDim() {
        return (int) indices.size(0);
    }

    @Override
    public int denseDim() {
        return values.dim() - 1;
    }

    /// {@return whether the indices are known to be sorted and distinct}
    public boolean isCoalesced() {
        return coalescence == Coalescence.COALESCED;
    }

    @Override
    public void validate() {
        if (device().isMeta()) {
            return;
        }
        sparseShape();
        long before = -1;
        for (long k = 0; k < nnz(); k++) {
            long position = position(k);
            if (isCoalesced() && position <= before) {
                throw new IllegalArgumentException("the indices are said to be coalesced, but number " + k
                        + " is not after the one before it");
            }
            before = position;
        }
    }

    @Override
    public Tensor toDense() {
        validate();
        Tensor dense = Tensors.zerosLike(values, dtype(), shape);
        if (!device().isMeta() && dense.numel() > 0 && nnz() > 0) {
            DenseParts from = DenseParts.of(values, nnz());
            DenseParts to = DenseParts.of(dense, sparseShape().numel());
            for (long k = 0; k < nnz(); k++) {
                to.add(position(k), from, k);
            }
        }
        return dense;
    }

    /// Returns the place of an entry among the sparse dimensions in row-major order.
    private long position(long k) {
        long position = 0;
        for (int d = 0; d < sparseDim(); d++) {
            long index = indices.getLong(d, k);
            if (index < 0 || index >= shape.size(d)) {
                throw new IllegalArgumentException("index " + index + " of entry " + k + " is outside dimension " + d
                        + " of the shape " + shape);
            }
            position = position * shape.size(d) + index;
        }
        return position;
    }

    /// Returns the sizes of the sparse dimensions, whose places must be countable.
    private Shape sparseShape() {
        return Shape.of(Arrays.copyOf(shape.toArray(), sparseDim()));
    }

    private static void checkIndices(Tensor indices, Tensor values) {
        if (!indices.dtype().equals(DType.INT64) || indices.dim() != 2) {
            throw new IllegalArgumentException("the indices of a coordinate tensor are int64 in two dimensions, not "
                    + indices.dtype().name() + " of shape " + indices.shape());
        }
        if (values.dim() == 0 || values.size(0) != indices.size(1)) {
            throw new IllegalArgumentException("indices of shape " + indices.shape() + " do not fit values of shape "
                    + values.shape() + ", which need one index each");
        }
        if (!indices.device().equals(values.device())) {
            throw new IllegalArgumentException(
                    "indices on " + indices.device() + " for values on " + values.device());
        }
    }

    private static void checkShape(Tensor indices, Tensor values, Shape shape) {
        int dense = values.dim() - 1;
        long[] sizes = shape.toArray();
        boolean fits = indices.size(0) == sizes.length - dense && Arrays.equals(values.shape().toArray(), 1,
                values.dim(), sizes, sizes.length - dense, sizes.length);
        if (!fits) {
            throw new IllegalArgumentException("the shape " + shape + " does not fit " + indices.size(0)
                    + " sparse dimensions and values of shape " + values.shape());
        }
    }
}
