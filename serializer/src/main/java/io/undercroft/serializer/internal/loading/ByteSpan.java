package io.undercroft.serializer.internal.loading;

import io.undercroft.format.Span;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;

/// Where in its storage a tensor lies.
final class ByteSpan {
    private ByteSpan() {}

    /// {@return the bytes from the first element of a tensor, which has some, to behind its last one} No sum is too large, as
    /// they all lie in the storage.
    static Span of(Tensor tensor) {
        long last = tensor.storageOffset();
        for (int dim = 0; dim < tensor.dim(); dim++) {
            last += (tensor.size(dim) - 1) * tensor.stride(dim);
        }
        return new Span(start(tensor.dtype(), tensor.storageOffset()), tensor.dtype().nbytes(last + 1));
    }

    private static long start(DType dtype, long offset) {
        return dtype.isByteSized()
                ? offset * dtype.itemsize()
                : Math.multiplyExact(offset, dtype.bits()) / Byte.SIZE;
    }
}
