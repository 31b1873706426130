package io.undercroft.serializer.analysis;

import io.undercroft.storage.Tensor;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;

/// Views of parts of tensors, so that work on large tensors needs bounded memory.
public final class TensorBlocks {
    /// From here on, in bytes, elements that repeat what is stored are not read: a file of a kilobyte can require
    /// years.
    private static final long REPEATED_LIMIT = 64L << 30;

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

    /// {@return whether a tensor repeats stored elements to more than 64 GiB}
    ///
    /// @param tensor the tensor, of any strides
    public static boolean isEndless(Tensor tensor) {
        long nbytes = nbytes(tensor);
        return nbytes > REPEATED_LIMIT && nbytes > tensor.storage().nbytes();
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
