package io.undercroft.storage;

/// New tensors for results.
final class Blank {
    private Blank() {}

    /// A zeroed tensor in row-major order; without bytes if the tensor that it is made from has none (meta).
    static Tensor like(Tensor source, DType dtype, Shape shape) {
        long[] sizes = shape.toArray();
        return source.device().isMeta() ? Tensor.meta(dtype, sizes) : Tensor.zeros(dtype, sizes);
    }
}
