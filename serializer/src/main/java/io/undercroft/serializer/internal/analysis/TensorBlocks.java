package io.undercroft.serializer.internal.analysis;

import io.undercroft.storage.Tensor;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;

/// Views of parts of tensors, so that work on large tensors needs bounded memory.
public final class TensorBlocks {
    private TensorBlocks() {}

    /// Passes tensors of the same shape part by part, in row-major order.
    ///
    /// @param tensors the tensors
    /// @param most the maximum number of elements of a part, at least 1
    /// @param work called with the same part of each tensor; returns whether to go on
    /// @return whether the work was done to the end
    public static boolean forEach(List<Tensor> tensors, long most, Predicate<List<Tensor>> work) {
        Tensor first = tensors.getFirst();
        if (first.numel() <= most) {
            return work.test(tensors);
        }
        // There is a dimension, as a tensor without one has one element. Recursion ends with the last one.
        long rows = first.size(0);
        long step = most / (first.numel() / rows);
        for (long row = 0; row < rows; row += Math.max(step, 1)) {
            long from = row;
            List<Tensor> parts = tensors.stream().map(tensor -> step == 0
                    ? tensor.select(0, from)
                    : tensor.narrow(0, from, Math.min(step, rows - from))).toList();
            if (!forEach(parts, most, work)) {
                return false;
            }
        }
        return true;
    }

    /// {@return the number of bytes from the first element to the end of the last one}
    ///
    /// @param tensor a tensor with elements of whole bytes, and at least one
    public static long span(Tensor tensor) {
        long last = 0;
        for (int dim = 0; dim < tensor.dim(); dim++) {
            last += (tensor.size(dim) - 1) * tensor.stride(dim);
        }
        return (last + 1) * tensor.itemsize();
    }

    /// Returns tensors of one shape without the repetitions that all of them have: of a dimension in which each has the
    /// stride 0, all indexes have the same elements, so the first one is left.
    ///
    /// @param tensors tensors of one shape
    /// @return views of one shape
    public static List<Tensor> distinct(List<Tensor> tensors) {
        List<Tensor> views = tensors;
        for (int d = 0; d < tensors.getFirst().dim(); d++) {
            int dim = d;
            if (tensors.getFirst().size(dim) > 1 && tensors.stream().allMatch(tensor -> tensor.stride(dim) == 0)) {
                views = views.stream().map(tensor -> tensor.narrow(dim, 0, 1)).toList();
            }
        }
        return views;
    }

    /// {@return the size of all elements in bytes, repeated elements included; at most 2^63-1}
    ///
    /// @param tensor the tensor, of any strides
    public static long nbytes(Tensor tensor) {
        try {
            return tensor.nbytes();
        } catch (ArithmeticException _) {
            return Long.MAX_VALUE;
        }
    }

    /// {@return the sum of these sizes; at most 2^63-1}
    ///
    /// @param tensors the tensors
    public static long nbytes(Collection<Tensor> tensors) {
        return Sizes.sum(tensors.stream().mapToLong(TensorBlocks::nbytes));
    }
}
