package io.undercroft.adapters;

import static java.util.Map.entry;

import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.ForeignAllocation;
import org.apache.arrow.memory.ReferenceManager;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.ipc.message.ArrowFieldNode;
import org.apache.arrow.vector.types.Types.MinorType;
import org.apache.arrow.vector.types.pojo.FieldType;

/// Vectors of Apache Arrow on the memory of tensors, and the reverse.
///
/// A vector has one dimension: it has the elements of a tensor in row-major order, and no shape. The elements are not
/// copied; the validity bitmap of the vector is allocated by the allocator. Bool tensors are not supported, as bools
/// are bits in Arrow and bytes in PyTorch: convert them to uint8.
///
/// Arrow needs `--add-opens=java.base/java.nio=ALL-UNNAMED`.
public final class ArrowVectors {
    private static final Map<DType, MinorType> TYPES = Map.ofEntries(entry(DType.FLOAT16, MinorType.FLOAT2),
            entry(DType.FLOAT32, MinorType.FLOAT4), entry(DType.FLOAT64, MinorType.FLOAT8),
            entry(DType.INT8, MinorType.TINYINT), entry(DType.INT16, MinorType.SMALLINT),
            entry(DType.INT32, MinorType.INT), entry(DType.INT64, MinorType.BIGINT),
            entry(DType.UINT8, MinorType.UINT1), entry(DType.UINT16, MinorType.UINT2),
            entry(DType.UINT32, MinorType.UINT4), entry(DType.UINT64, MinorType.UINT8));

    private ArrowVectors() {}

    /// Creates a vector on the memory of a tensor.
    ///
    /// @param tensor the tensor
    /// @param name the name of the vector's field
    /// @param allocator the allocator that accounts for the memory
    /// @return the vector, of the class for its dtype, such as [org.apache.arrow.vector.Float4Vector]. It and the
    ///     vectors that it is transferred to hold a reference to the storage until they are closed
    /// @throws IllegalArgumentException if Arrow does not have the dtype, the tensor has no elements or more than
    ///     2^31-1, is not contiguous, is on the heap, read-only or not aligned
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta)
    public static BaseFixedWidthVector wrap(Tensor tensor, String name, BufferAllocator allocator) {
        MinorType type = NativeMemory.typeOf(tensor, TYPES, "Arrow");
        MemorySegment bytes = NativeMemory.someBytes(tensor);
        if (tensor.numel() > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("a vector of Arrow has at most 2^31-1 elements, not " + tensor.numel()
                    + "; narrow() the tensor to parts");
        }
        FieldType field = FieldType.notNullable(type.getType());
        BaseFixedWidthVector vector = (BaseFixedWidthVector) type.getNewVector(name, field, allocator, null);
        // The vector retains the buffer.
        try (ArrowBuf elements = buffer(bytes, tensor.storage(), allocator)) {
            vector.loadFieldBuffers(new ArrowFieldNode(tensor.numel(), 0), List.of(allocator.getEmpty(), elements));
            return vector;
        } catch (RuntimeException | Error e) {
            vector.close();
            throw e;
        }
    }

    private static ArrowBuf buffer(MemorySegment bytes, Storage storage, BufferAllocator allocator) {
        storage.retain();
        try {
            return allocator.wrapForeignAllocation(new StorageAllocation(bytes, storage));
        } catch (RuntimeException | Error e) {
            // The limit of the allocator refused it; nothing releases the storage then.
            storage.release();
            throw e;
        }
    }

    /// Creates a tensor on the memory of a vector.
    ///
    /// @param vector the vector, whose present elements and memory are used. It may be closed before the storage is
    ///     released; its allocator must be closed later
    /// @return a tensor of one dimension, whose storage holds a reference to the memory of the vector
    /// @throws IllegalArgumentException if the vector has nulls, or its elements are not numbers
    public static Tensor asTensor(BaseFixedWidthVector vector) {
        DType dtype = NativeMemory.dtypeOf(vector.getMinorType(), TYPES, "Arrow");
        if (vector.getNullCount() > 0) {
            throw new IllegalArgumentException("vector " + vector.getName() + " has " + vector.getNullCount()
                    + " nulls, which a tensor cannot have; fill them first");
        }
        ReferenceManager references = vector.getDataBuffer().getReferenceManager();
        Shape shape = Shape.of(vector.getValueCount());
        references.retain();
        MemorySegment elements = NativeMemory.memory(vector.getDataBufferAddress(), dtype.nbytes(shape.numel()));
        Storage storage = NativeMemory.storage(elements, references, references::release);
        return Tensor.of(storage, dtype, 0, shape, 1);
    }

    /// Memory of a storage, which Arrow releases.
    private static final class StorageAllocation extends ForeignAllocation {
        private final Storage storage;

        StorageAllocation(MemorySegment bytes, Storage storage) {
            super(bytes.byteSize(), bytes.address());
            this.storage = storage;
        }

        @Override
        protected void release0() {
            storage.release();
        }
    }
}
