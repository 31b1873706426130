package io.undercroft.storage;

import java.util.List;

/// A sparse tensor: component tensors that have the indices and the values of the stored elements. As PyTorch's sparse
/// tensors.
///
/// The constructors check the dtypes, sizes and devices of the components, and read no elements; [#validate] checks the
/// indices. A sparse tensor is not a reference to the storages of its components: [Storage] describes when their bytes
/// are freed. A tensor on the meta device has everything except elements.
///
/// The dimensions are, in this order, the batch dimensions of a compressed tensor, the sparse dimensions, and the dense
/// dimensions, which are those of each value.
public sealed interface SparseTensor permits SparseCooTensor, SparseCompressedTensor {
    /// {@return the layout of the components}
    Layout layout();

    /// {@return the size in each dimension}
    Shape shape();

    /// {@return the stored elements}
    Tensor values();

    /// {@return the number of stored elements, blocks or dense parts; of one batch, if there are batches}
    long nnz();

    /// {@return the number of sparse dimensions}
    int sparseDim();

    /// {@return the number of dense dimensions}
    int denseDim();

    /// Checks that the indices are valid. On the meta device nothing is checked.
    ///
    /// @throws IllegalArgumentException if they are not
    /// @throws IllegalStateException if a storage was freed
    void validate();

    /// {@return all elements in row-major order on a new storage; elements that are not stored are 0} Stored elements
    /// are added to 0, as in PyTorch, so that -0.0 becomes 0.0. The indices are checked first, as by [#validate].
    ///
    /// @throws IllegalArgumentException if the indices are wrong
    /// @throws UnsupportedOperationException if the dtype is not numeric
    /// @throws IllegalStateException if a storage was freed
    Tensor toDense();

    /// {@return the component tensors: the indices, then the values}
    List<Tensor> components();

    /// Moves the storages of all components to memory that other processes can attach, as [Tensor#shareMemory].
    ///
    /// @return this tensor
    /// @throws IllegalArgumentException if the tensor is on another device
    /// @throws IllegalStateException if a storage was freed, has no bytes (meta), or there is no shared memory
    /// @throws OutOfMemoryError if there is not that much shared memory; some components may have moved then
    default SparseTensor shareMemory() {
        components().forEach(Tensor::shareMemory);
        return this;
    }

    /// {@return whether other processes see what is written to any of the components}
    ///
    /// @throws IllegalStateException if a storage was freed
    default boolean isShared() {
        return components().stream().allMatch(Tensor::isShared);
    }

    /// {@return the type of the elements}
    default DType dtype() {
        return values().dtype();
    }

    /// {@return the device of the values}
    default Device device() {
        return values().device();
    }
}
