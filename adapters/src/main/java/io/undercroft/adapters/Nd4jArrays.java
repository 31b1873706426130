package io.undercroft.adapters;

import static java.util.Map.entry;

import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/// Tensors as arrays of ND4J, on the same memory. For ND4J's CPU backend.
public final class Nd4jArrays {
    private static final Map<DType, DataType> TYPES = Map.ofEntries(entry(DType.FLOAT32, DataType.FLOAT),
            entry(DType.FLOAT64, DataType.DOUBLE), entry(DType.FLOAT16, DataType.FLOAT16),
            entry(DType.BFLOAT16, DataType.BFLOAT16), entry(DType.INT8, DataType.INT8),
            entry(DType.INT16, DataType.INT16), entry(DType.INT32, DataType.INT32), entry(DType.INT64, DataType.INT64),
            entry(DType.UINT8, DataType.UINT8), entry(DType.UINT16, DataType.UINT16),
            entry(DType.UINT32, DataType.UINT32), entry(DType.UINT64, DataType.UINT64),
            entry(DType.BOOL, DataType.BOOL));

    private Nd4jArrays() {}

    /// Returns an array on the memory of a tensor, of the same shape, also beyond 2 GiB.
    ///
    /// @param tensor the tensor
    /// @return the array. It holds a reference to the storage until the array's buffer is garbage collected; closing
    ///     the array does not release it
    /// @throws IllegalArgumentException if ND4J has no such dtype, the tensor has no elements, or it is not contiguous,
    ///     on the heap, read-only or not aligned
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta)
    /// @throws OutOfMemoryError if the process has more memory than JavaCPP allows, of any kind: four times the heap,
    ///     unless `org.bytedeco.javacpp.maxPhysicalBytes` is set
    public static INDArray lend(Tensor tensor) {
        DataType type = Lending.typeOf(tensor, TYPES, "ND4J");
        MemorySegment bytes = Lending.someBytes(tensor);
        Pointer pointer = new Lent(bytes, tensor.numel(), tensor.storage().retain());
        DataBuffer buffer = Nd4j.createBuffer(pointer, tensor.numel(), type);
        return Nd4j.create(buffer, tensor.shape().toArray(), tensor.stride(), 0, 'c');
    }

    /// Creates a tensor on the memory of an array, with its strides.
    ///
    /// @param array the array; it must not be closed while the tensor is used, and is kept until the tensor's
    ///     storage is released or collected
    /// @return a tensor of the same shape
    /// @throws IllegalArgumentException if there is no such dtype here, or the array has no elements
    public static Tensor tensor(INDArray array) {
        DType dtype = Lending.dtypeOf(array.dataType(), TYPES, "ND4J");
        if (array.isEmpty()) {
            throw new IllegalArgumentException(
                    "the array has no elements to show, as nothing has no address; make an empty tensor");
        }
        Shape shape = Shape.of(array.shape());
        long[] stride = array.stride();
        long first = array.data().address() + dtype.nbytes(array.offset());
        Storage storage = Lending.storage(Lending.memory(first, dtype.nbytes(reach(shape, stride))), array, () -> {});
        return Tensor.of(storage, dtype, 0, shape, stride);
    }

    /// Returns the elements from the first to the last of a strided array.
    private static long reach(Shape shape, long[] stride) {
        long last = 0;
        for (int d = 0; d < stride.length; d++) {
            last = Math.addExact(last, Math.multiplyExact(shape.size(d) - 1, stride[d]));
        }
        return last + 1;
    }

    /// Memory of a storage, until JavaCPP finds no more pointers to it.
    private static final class Lent extends Pointer {
        Lent(MemorySegment bytes, long numel, Storage storage) {
            // While the capacity is 0, so that JavaCPP does not count what is not its own against its limit.
            deallocator(storage::release);
            address = bytes.address();
            limit = numel;
            capacity = numel;
        }
    }
}
