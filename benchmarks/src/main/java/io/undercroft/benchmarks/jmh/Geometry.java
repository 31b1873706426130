package io.undercroft.benchmarks.jmh;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;

/// The layout of the elements of a tensor that is copied. `peers.py` makes the same ones.
public enum Geometry {
    /// One run.
    CONTIGUOUS(1) {
        @Override
        Tensor view(Tensor all) {
            return all;
        }
    },
    /// The left half of a matrix: rows of 1024 elements that lie 2048 apart.
    COLUMN_SLICE(2) {
        @Override
        Tensor view(Tensor all) {
            return all.view(-1, 2 * COLUMNS).narrow(1, 0, COLUMNS);
        }
    },
    /// A square matrix, columns first.
    TRANSPOSED(1) {
        @Override
        Tensor view(Tensor all) {
            return all.view((long) Math.sqrt((double) all.numel()), -1).t();
        }
    },
    /// One element, and one that is left out. Both cross the memory bus.
    EVERY_SECOND(2) {
        @Override
        Tensor view(Tensor all) {
            return all.slice(0, 0, Long.MAX_VALUE, 2);
        }
    };

    private static final long COLUMNS = 1024;

    /// Elements of the storage for each element of the tensor.
    private final int spread;

    Geometry(int spread) {
        this.spread = spread;
    }

    /// {@return a new tensor of this geometry whose elements count 0, 1, … 250, 0, … in the order of its storage}
    ///
    /// @param dtype type of the elements
    /// @param numel how many elements
    Tensor make(DType dtype, long numel) {
        Tensor all = Tensor.zeros(dtype, numel * spread);
        Counting.fill(all);
        return view(all);
    }

    /// {@return a view of a tensor of one dimension}
    abstract Tensor view(Tensor all);

    /// {@return how many bytes must be read and written to copy elements of this geometry to one run, for each byte of
    /// the elements; memory comes in lines, so that what is skipped inside a line is read with it}
    public double traffic() {
        return this == EVERY_SECOND ? spread + 1 : 2;
    }
}
