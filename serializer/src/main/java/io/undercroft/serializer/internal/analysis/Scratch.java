package io.undercroft.serializer.internal.analysis;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import org.jspecify.annotations.Nullable;

/// Memory for a copy of a part of a tensor. The next copy replaces it, so that a pass over large tensors does not
/// depend on when the garbage collector frees copies. For use by one thread.
public final class Scratch implements AutoCloseable {
    private @Nullable Storage space;

    /// No memory yet.
    public Scratch() {}

    /// {@return a tensor whose elements are one run of bytes, conjugated and negated: the same, or a copy that is valid
    /// until the next call}
    ///
    /// @param tensor a tensor with bytes
    public Tensor run(Tensor tensor) {
        boolean isRun = tensor.isContiguous() && tensor.dtype().isByteSized() && !tensor.is(Tensor.Flag.CONJ)
                && !tensor.is(Tensor.Flag.NEG);
        return isRun ? tensor : copy(tensor, tensor.dtype());
    }

    /// {@return a copy of the elements in row-major order, as [Tensor#to(DType)] converts them, valid until the next
    /// call}
    ///
    /// @param tensor a tensor with bytes
    /// @param dtype the dtype of the copy
    /// @throws UnsupportedOperationException if the dtype is another one, and one of the two has no numbers
    public Tensor copy(Tensor tensor, DType dtype) {
        long nbytes = dtype.nbytes(tensor.numel());
        if (space == null || space.nbytes() < nbytes) {
            close();
            space = Storage.allocate(nbytes, AnonymousMemory.allocator());
        }
        if (!dtype.isByteSized()) {
            // Unused bits of the last byte are not copied.
            space.set(nbytes - 1, (byte) 0);
        }
        return Tensor.of(space, dtype, 0, tensor.shape()).copyFrom(tensor);
    }

    /// {@return the bytes of a tensor that [#run] returned}
    ///
    /// @param run the tensor, which has elements
    static Tensor bytes(Tensor run) {
        return run.dtype().isByteSized()
                ? run
                : Tensor.of(run.storage(), DType.UINT8, 0, Shape.of(run.nbytes()));
    }

    @Override
    public void close() {
        if (space != null) {
            space.release();
            space = null;
        }
    }
}
