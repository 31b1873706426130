package io.undercroft.storage;

import java.util.Arrays;
import java.util.Optional;

/// How the elements of a tensor are laid out, as `torch.layout` names it.
///
/// [Tensor] and [QuantizedTensor] are strided; the sparse layouts are kept by [SparseTensor].
public enum Layout {
    /// Every element lies at a place that strides give.
    STRIDED("strided"),
    /// The elements that are not zero, each with one index for every sparse dimension.
    SPARSE_COO("sparse_coo"),
    /// Rows one after the other, each as the columns and the values of its elements.
    SPARSE_CSR("sparse_csr"),
    /// Columns one after the other, each as the rows and the values of its elements.
    SPARSE_CSC("sparse_csc"),
    /// As [#SPARSE_CSR], of blocks of elements.
    SPARSE_BSR("sparse_bsr"),
    /// As [#SPARSE_CSC], of blocks of elements.
    SPARSE_BSC("sparse_bsc");

    private static final String PREFIX = "torch.";

    private final String torchName;

    Layout(String torchName) {
        this.torchName = torchName;
    }

    /// Finds a layout by its name.
    ///
    /// @param name PyTorch's name with or without `torch.`
    /// @return the layout, or nothing if none has that name
    public static Optional<Layout> find(String name) {
        String wanted = name.startsWith(PREFIX) ? name.substring(PREFIX.length()) : name;
        return Arrays.stream(values()).filter(layout -> layout.torchName.equals(wanted)).findFirst();
    }

    /// Returns whether this is one of the four layouts of [SparseCompressedTensor].
    boolean isCompressed() {
        return this != STRIDED && this != SPARSE_COO;
    }

    /// Returns whether values are blocks of elements.
    boolean isBlocked() {
        return this == SPARSE_BSR || this == SPARSE_BSC;
    }

    /// {@return whether rows are compressed, so that the plain indices are columns}
    public boolean compressesRows() {
        return this == SPARSE_CSR || this == SPARSE_BSR;
    }

    /// {@return PyTorch's name, for instance `torch.sparse_csr`}
    @Override
    public String toString() {
        return PREFIX + torchName;
    }
}
