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

/// Tensors of ONNX Runtime on the memory of tensors, and the reverse.
///
/// A wrapped tensor can be an input of a session and a pinned output. The session then writes its result to the memory
/// of the tensor, for instance a mapped file or shared memory.
///
/// ```java
/// try (OnnxTensors.Wrapped x = OnnxTensors.wrap(weights, environment);
///         OnnxTensors.Wrapped y = OnnxTensors.wrap(result, environment)) {
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

    /// Creates a tensor of ONNX Runtime on the memory of a tensor, with the same shape.
    ///
    /// @param tensor the tensor
    /// @param environment the environment of the session that uses it
    /// @return the tensor of ONNX Runtime, which holds a reference to the storage until it is closed
    /// @throws IllegalArgumentException if the Java API of ONNX Runtime does not have the dtype, or the tensor is not
    ///     contiguous, is on the heap, read-only or not aligned
    /// @throws UnsupportedOperationException if the tensor has more than 2^31-1 bytes: ONNX Runtime accesses memory of
    ///     Java by a [java.nio.ByteBuffer]
    /// @throws IllegalStateException if the storage was freed or has no bytes (meta)
    /// @throws OrtException if ONNX Runtime does not create the tensor
    public static Wrapped wrap(Tensor tensor, OrtEnvironment environment) throws OrtException {
        OnnxJavaType type = NativeMemory.typeOf(tensor, TYPES, "ONNX Runtime");
        ByteBuffer bytes = NativeMemory.buffer(tensor);
        Storage storage = tensor.storage().retain();
        try {
            return new Wrapped(OnnxTensor.createTensor(environment, bytes, tensor.shape().toArray(), type), storage);
        } catch (OrtException | RuntimeException | Error e) {
            storage.release();
            throw e;
        }
    }

    /// Creates a tensor on the memory of a tensor of ONNX Runtime that was made from a direct buffer or an array.
    /// Results that a session allocates are in memory that ONNX Runtime gives no access to; pass a wrapped tensor as
    /// the output instead.
    ///
    /// @param onnx the tensor of ONNX Runtime, which may be closed before the result is used, as the buffer belongs to
    ///     Java. The position and the limit of the buffer must be the same as when the tensor was made from it, since
    ///     ONNX Runtime does not report them
    /// @return a tensor of the same shape
    /// @throws IllegalArgumentException if ONNX Runtime allocated the memory, the elements are strings, or the buffer
    ///     has more or fewer bytes remaining than the tensor
    public static Tensor asTensor(OnnxTensor onnx) {
        Buffer buffer = bufferOf(onnx).filter(Buffer::isDirect).orElseThrow(() -> new IllegalArgumentException(
                "ONNX Runtime gives no access to the memory of this tensor, which it allocated itself; copy "
                        + "getByteBuffer(), or pass a wrapped tensor as the output"));
        DType dtype = NativeMemory.dtypeOf(onnx.getInfo().type, TYPES, "ONNX Runtime");
        Shape shape = Shape.of(onnx.getInfo().getShape());
        MemorySegment bytes = MemorySegment.ofBuffer(buffer);
        if (bytes.byteSize() != dtype.nbytes(shape.numel())) {
            throw new IllegalArgumentException("the buffer of the tensor has " + bytes.byteSize() + " bytes left, not "
                    + dtype.nbytes(shape.numel()) + "; reset its position and limit");
        }
        return Tensor.of(Storage.wrap(bytes), dtype, 0, shape, shape.contiguousStride());
    }

    private static Optional<Buffer> bufferOf(OnnxTensor onnx) {
        try {
            return onnx.getBufferRef();
        } catch (NullPointerException e) {
            // ONNX Runtime 1.29 throws it if there is no buffer.
            return Optional.empty();
        }
    }

    /// A tensor of ONNX Runtime on the memory of a storage.
    public static final class Wrapped implements AutoCloseable {
        private final OnnxTensor tensor;
        private final Storage storage;
        private final AtomicBoolean closed = new AtomicBoolean();

        private Wrapped(OnnxTensor tensor, Storage storage) {
            this.tensor = tensor;
            this.storage = storage;
        }

        /// {@return the tensor, which must not be used after this object is closed}
        public OnnxTensor tensor() {
            return tensor;
        }

        /// Closes the tensor and releases the storage. No session may use the tensor any more. The second and later
        /// calls do nothing.
        @Override
        public void close() {
            if (closed.compareAndSet(false, true)) {
                tensor.close();
                storage.release();
            }
        }
    }
}
