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

/// Tensors as vectors of Apache Arrow, on the same memory.
///
/// A vector has one dimension: it holds the elements of a tensor in row-major order, and no shape. Besides the
/// elements, which are not copied, it has a bit for each that is set if it is not null; these are from the allocator.
/// Arrow's bools are bits, too, and PyTorch's bytes: convert them to uint8.
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

    /// Returns a vector on the memory of a tensor.
    ///
    /// @param tensor the tensor
    /// @param name the name of the vector's field
    /// @param allocator what the memory is accounted to, as all of Arrow's is
    /// @return the vector, of the class for its dtype, such as [org.apache.arrow.vector.Float4Vector]. It holds a
    ///     reference to the storage until it is closed, and so do those that it is transferred to
    /// @throws IllegalArgumentException if Arrow has no such dtype, there are more than 2^31-1 elements or none, or the
    ///     tensor is not contiguous, on the heap, read-only or not aligned
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta)
    public static BaseFixedWidthVector lend(Tensor tensor, String name, BufferAllocator allocator) {
        MinorType type = Lending.typeOf(tensor, TYPES, "Arrow");
        MemorySegment bytes = Lending.someBytes(tensor);
        if (tensor.numel() > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("a vector of Arrow has at most 2^31-1 elements, not " + tensor.numel()
                    + "; narrow() the tensor to parts");
        }
        FieldType field = FieldType.notNullable(type.getType());
        BaseFixedWidthVector vector = (BaseFixedWidthVector) type.getNewVector(name, field, allocator, null);
        // The vector takes a further reference.
        try (ArrowBuf elements = wrap(bytes, tensor.storage(), allocator)) {
            vector.loadFieldBuffers(new ArrowFieldNode(tensor.numel(), 0), List.of(allocator.getEmpty(), elements));
            return vector;
        } catch (RuntimeException | Error e) {
            vector.close();
            throw e;
        }
    }

    private static ArrowBuf wrap(MemorySegment bytes, Storage storage, BufferAllocator allocator) {
        storage.retain();
        try {
            return allocator.wrapForeignAllocation(new Lent(bytes, storage));
        } catch (RuntimeException | Error e) {
            // Refused by the allocator's limit, before it took anything over.
            storage.release();
            throw e;
        }
    }

    /// Creates a tensor on the memory of a vector.
    ///
    /// @param vector the vector: the elements that it has now, and where they are now. It may be closed before the
    ///     tensor, but its allocator not: close that after the tensor's storage is released
    /// @return a tensor of one dimension; its storage holds a reference to the vector's elements. That of an empty
    ///     vector is empty
    /// @throws IllegalArgumentException if there is a null among the elements, or they are no numbers
    public static Tensor tensor(BaseFixedWidthVector vector) {
        DType dtype = Lending.dtypeOf(vector.getMinorType(), TYPES, "Arrow");
        if (vector.getNullCount() > 0) {
            throw new IllegalArgumentException("vector " + vector.getName() + " has " + vector.getNullCount()
                    + " nulls, which a tensor has not; fill them first");
        }
        ReferenceManager references = vector.getDataBuffer().getReferenceManager();
        Shape shape = Shape.of(vector.getValueCount());
        references.retain();
        MemorySegment elements = Lending.memory(vector.getDataBufferAddress(), dtype.nbytes(shape.numel()));
        Storage storage = Lending.storage(elements, references, references::release);
        return Tensor.of(storage, dtype, 0, shape, 1);
    }

    /// Memory of a storage, until Arrow needs it no more.
    private static final class Lent extends ForeignAllocation {
        private final Storage storage;

        Lent(MemorySegment bytes, Storage storage) {
            super(bytes.byteSize(), bytes.address());
            this.storage = storage;
        }

        @Override
        protected void release0() {
            storage.release();
        }
    }
}
