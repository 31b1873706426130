package io.undercroft.storage;

import java.util.Arrays;
import java.util.Optional;

/// The memory layout of a tensor, as `torch.layout`.
///
/// [Tensor] and [QuantizedTensor] are strided; a [SparseTensor] has one of the other layouts.
public enum Layout {
    /// Strides locate every element.
    STRIDED("strided"),
    /// Coordinates: each stored element has an index in every sparse dimension.
    SPARSE_COO("sparse_coo"),
    /// Compressed rows: the columns and the values of the stored elements, row by row.
    SPARSE_CSR("sparse_csr"),
    /// Compressed columns: the rows and the values of the stored elements, column by column.
    SPARSE_CSC("sparse_csc"),
    /// Compressed rows of blocks of elements.
    SPARSE_BSR("sparse_bsr"),
    /// Compressed columns of blocks of elements.
    SPARSE_BSC("sparse_bsc");

    private static final String PREFIX = "torch.";

    private final String torchName;

    Layout(String torchName) {
        this.torchName = torchName;
    }

    /// Finds a layout by its name.
    ///
    /// @param name PyTorch's name with or without `torch.`
    /// @return the layout, or empty if no layout has that name
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
