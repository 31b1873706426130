package io.undercroft.adapters;

import static java.util.Map.entry;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.nio.ByteBuffer;
import java.util.Map;

/// Arrays of DJL on the memory of tensors.
///
/// DJL's engines for PyTorch and ONNX Runtime use the memory without a copy. Other engines may copy it.
public final class DjlArrays {
    private static final Map<DType, DataType> TYPES = Map.ofEntries(entry(DType.FLOAT32, DataType.FLOAT32),
            entry(DType.FLOAT64, DataType.FLOAT64), entry(DType.FLOAT16, DataType.FLOAT16),
            entry(DType.BFLOAT16, DataType.BFLOAT16), entry(DType.INT8, DataType.INT8),
            entry(DType.INT16, DataType.INT16), entry(DType.INT32, DataType.INT32),
            entry(DType.INT64, DataType.INT64), entry(DType.UINT8, DataType.UINT8),
            entry(DType.UINT16, DataType.UINT16), entry(DType.UINT32, DataType.UINT32),
            entry(DType.UINT64, DataType.UINT64), entry(DType.BOOL, DataType.BOOLEAN),
            entry(DType.COMPLEX64, DataType.COMPLEX64));

    private DjlArrays() {}

    /// Creates an array on the memory of a tensor, with the same shape.
    ///
    /// @param tensor the tensor
    /// @param manager the manager of the array. It holds a reference to the storage until it is closed, even if the
    ///     array is closed before: use a sub-manager for arrays that are needed for a short time. An array that is
    ///     attached to another manager must not be used after this one is closed
    /// @return the array
    /// @throws IllegalArgumentException if DJL does not have the dtype, or the tensor is not contiguous, is on the
    ///     heap, read-only or not aligned
    /// @throws UnsupportedOperationException if the tensor has more than 2^31-1 bytes (DJL accesses memory of Java by a
    ///     [java.nio.ByteBuffer]), or the engine does not have the dtype
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta), or the manager is closed
    public static NDArray wrap(Tensor tensor, NDManager manager) {
        DataType type = NativeMemory.typeOf(tensor, TYPES, "DJL");
        ByteBuffer bytes = NativeMemory.buffer(tensor);
        Storage storage = tensor.storage().retain();
        try {
            NDArray array = manager.create(bytes, new Shape(tensor.shape().toArray()), type);
            manager.attachInternal(NDManager.nextUid(), storage::release);
            return array;
        } catch (RuntimeException | Error e) {
            storage.release();
            throw e;
        }
    }
}
