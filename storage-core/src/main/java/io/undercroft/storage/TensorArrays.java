package io.undercroft.storage;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.IntFunction;

/// The elements of tensors as Java's arrays and buffers.
final class TensorArrays {
    /// Some JVMs need a few words of an array for themselves.
    private static final long MAX_LENGTH = Integer.MAX_VALUE - 8;

    private TensorArrays() {}

    /// Returns the elements in row-major order, converted, in a fresh array.
    ///
    /// @param <A> the type of the array
    /// @param tensor whose elements
    /// @param dtype the dtype of the array's elements
    /// @param layout their layout in the bytes of a tensor
    /// @param array makes an array of a length
    static <A> A toArray(Tensor tensor, DType dtype, ValueLayout layout, IntFunction<A> array) {
        long numel = tensor.shapeAs(dtype).numel();
        if (numel > MAX_LENGTH) {
            throw new IllegalArgumentException("an array cannot hold " + numel
                    + " elements, only " + MAX_LENGTH + "; take parts with narrow(), or bytes()");
        }
        int length = (int) numel;
        A values = array.apply(length);
        Tensor run = tensor.to(dtype).contiguous();
        BulkAccess.run(run.storage, () -> MemorySegment.copy(run.bytes(), layout, 0, values, 0, length));
        return values;
    }

    /// Returns the bytes of a tensor.
    static ByteBuffer buffer(Tensor tensor) {
        MemorySegment bytes = tensor.bytes();
        if (bytes.byteSize() > Integer.MAX_VALUE) {
            throw new UnsupportedOperationException("a buffer cannot have " + bytes.byteSize()
                    + " bytes, only 2^31-1; take parts with narrow(), or bytes()");
        }
        return bytes.asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    }
}
