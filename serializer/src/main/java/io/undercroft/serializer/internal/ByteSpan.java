package io.undercroft.serializer.internal;

import io.undercroft.format.Span;
import io.undercroft.storage.Tensor;

/// Where in its storage a tensor lies.
public final class ByteSpan {
    private ByteSpan() {}

    /// {@return the bytes from the first element of a tensor to behind its last one} Elements may be smaller than a byte; then
    /// the first and the last byte may belong to others too.
    ///
    /// @param tensor the tensor, which has elements
    public static Span of(Tensor tensor) {
        long last = tensor.storageOffset();
        for (int dim = 0; dim < tensor.dim(); dim++) {
            last += (tensor.size(dim) - 1) * tensor.stride(dim);
        }
        int bits = tensor.dtype().bits();
        return new Span(bytes(tensor.storageOffset(), bits, 0), bytes(last + 1, bits, Byte.SIZE - 1));
    }

    /// Eight elements are a whole number of bytes. So nothing overflows, though there may be more bits than a `long` counts.
    private static long bytes(long elements, int bits, int rounding) {
        return elements / Byte.SIZE * bits + (elements % Byte.SIZE * bits + rounding) / Byte.SIZE;
    }
}
