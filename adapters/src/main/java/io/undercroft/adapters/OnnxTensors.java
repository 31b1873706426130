package io.undercroft.adapters;

import static java.util.Map.entry;

import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.lang.foreign.MemorySegment;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/// Tensors as those of ONNX Runtime, on the same memory.
///
/// A lent tensor can be the input of a session, and, pinned, its output: then the session writes its result to where
/// the tensor lies, a mapped file or shared memory for instance.
///
/// ```java
/// try (OnnxTensors.Lent x = OnnxTensors.lend(weights, environment);
///         OnnxTensors.Lent y = OnnxTensors.lend(result, environment)) {
///     session.run(Map.of("x", x.tensor()), Set.of(), Map.of("y", y.tensor())).close();
/// }
/// ```
public final class OnnxTensors {
    private static final Map<DType, OnnxJavaType> TYPES = Map.ofEntries(entry(DType.FLOAT32, OnnxJavaType.FLOAT),
            entry(DType.FLOAT64, OnnxJavaType.DOUBLE), entry(DType.FLOAT16, OnnxJavaType.FLOAT16),
            entry(DType.BFLOAT16, OnnxJavaType.BFLOAT16), entry(DType.INT8, OnnxJavaType.INT8),
            entry(DType.INT16, OnnxJavaType.INT16), entry(DType.INT32, OnnxJavaType.INT32),
            entry(DType.INT64, OnnxJavaType.INT64), entry(DType.UINT8, OnnxJavaType.UINT8),
            entry(DType.BOOL, OnnxJavaType.BOOL));

    private OnnxTensors() {}

    /// Returns a tensor of ONNX Runtime on the memory of a tensor, of the same shape. (ONNX Runtime takes memory of
    /// Java as a [java.nio.ByteBuffer], which has at most 2 GiB.)
    ///
    /// @param tensor the tensor
    /// @param environment the environment of the session that uses it
    /// @return the tensor there, which holds a reference to the storage until it is closed
    /// @throws IllegalArgumentException if ONNX Runtime's Java has no such dtype, or the tensor is not contiguous, on
    ///     the heap, read-only or not aligned
    /// @throws UnsupportedOperationException if it has 2 GiB or more
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta)
    /// @throws OrtException if ONNX Runtime refuses
    public static Lent lend(Tensor tensor, OrtEnvironment environment) throws OrtException {
        OnnxJavaType type = Lending.typeOf(tensor, TYPES, "ONNX Runtime");
        ByteBuffer bytes = Lending.buffer(tensor);
        Storage storage = tensor.storage().retain();
        try {
            return new Lent(OnnxTensor.createTensor(environment, bytes, tensor.shape().toArray(), type),
                    storage);
        } catch (OrtException | RuntimeException | Error e) {
            storage.release();
            throw e;
        }
    }

    /// Creates a tensor on the memory of one of ONNX Runtime that was made from a direct buffer or an array. What a
    /// session returns lies in memory that is not accessible; give it a lent tensor as its output instead.
    ///
    /// @param theirs the tensor there; it may be closed before this one is used, as the buffer belongs to Java. That
    ///     buffer's position and limit have to be as they were when the tensor was made of it: ONNX Runtime does not
    ///     report where that was
    /// @return a tensor of the same shape
    /// @throws IllegalArgumentException if the memory is ONNX Runtime's own, the elements are strings, or the buffer
    ///     has more or fewer bytes left than the tensor
    public static Tensor tensor(OnnxTensor theirs) {
        Buffer buffer = bufferOf(theirs).filter(Buffer::isDirect).orElseThrow(() -> new IllegalArgumentException(
                "ONNX Runtime does not show the memory of this tensor, which it allocated itself; copy "
                        + "getByteBuffer(), or lend an output"));
        DType dtype = Lending.dtypeOf(theirs.getInfo().type, TYPES, "ONNX Runtime");
        Shape shape = Shape.of(theirs.getInfo().getShape());
        MemorySegment bytes = MemorySegment.ofBuffer(buffer);
        if (bytes.byteSize() != dtype.nbytes(shape.numel())) {
            throw new IllegalArgumentException("the buffer of the tensor has " + bytes.byteSize() + " bytes left, not "
                    + dtype.nbytes(shape.numel()) + "; set its position back to where it was");
        }
        return Tensor.of(Storage.wrap(bytes), dtype, 0, shape, shape.contiguousStride());
    }

    private static Optional<Buffer> bufferOf(OnnxTensor theirs) {
        try {
            return theirs.getBufferRef();
        } catch (NullPointerException e) {
            // ONNX Runtime 1.29 returns this where there is no buffer.
            return Optional.empty();
        }
    }

    /// A tensor of ONNX Runtime on memory of a storage.
    public static final class Lent implements AutoCloseable {
        private final OnnxTensor tensor;
        private final Storage storage;
        private final AtomicBoolean closed = new AtomicBoolean();

        private Lent(OnnxTensor tensor, Storage storage) {
            this.tensor = tensor;
            this.storage = storage;
        }

        /// {@return the tensor, to be used until this is closed}
        public OnnxTensor tensor() {
            return tensor;
        }

        /// Closes the tensor there and releases the storage. No session may use it any more. The second and
        /// later calls do nothing.
        @Override
        public void close() {
            if (closed.compareAndSet(false, true)) {
                tensor.close();
                storage.release();
            }
        }
    }
}
