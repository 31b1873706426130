package io.undercroft.storage;

import java.util.List;

/// A tensor that keeps only some of its elements, as component tensors: their places and their values. PyTorch's sparse
/// tensors.
///
/// What fits together is checked when one is made, which reads no element: types, sizes and devices of the components.
/// The indices are checked by [#validate]. Components are referenced, not owned: see [Storage] for when their bytes are
/// freed. A tensor on the meta device has everything except elements.
///
/// The order of dimensions is: of a compressed tensor the batch, then the sparse ones, then the dense ones, which every
/// value has by itself.
public sealed interface SparseTensor permits SparseCooTensor, SparseCompressedTensor {
    /// {@return the layout of the components}
    Layout layout();

    /// {@return the size in each dimension}
    Shape shape();

    /// {@return the elements that are kept}
    Tensor values();

    /// {@return how many elements are kept (of one batch, if there are batches), or blocks, or dense parts}
    long nnz();

    /// {@return the number of sparse dimensions}
    int sparseDim();

    /// {@return the number of dense dimensions}
    int denseDim();

    /// Checks that the indices are valid. On the meta device nothing is checked.
    ///
    /// @throws IllegalArgumentException if they do not, with the numbers
    /// @throws IllegalStateException if a storage was freed
    void validate();

    /// {@return all elements in row-major order on a new storage, those that are not kept as 0} What is kept
    /// is added to 0, as in PyTorch, so that -0.0 becomes 0.0. The indices are checked as by [#validate] first.
    ///
    /// @throws IllegalArgumentException if the indices are wrong
    /// @throws UnsupportedOperationException if the dtype has no numbers
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
