package io.undercroft.interop.numpy;

import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.interop.internal.TensorBytes;
import io.undercroft.interop.internal.numpy.ArrayNodes;
import io.undercroft.interop.internal.numpy.NumpyType.Kind;
import io.undercroft.interop.internal.numpy.NumpyType;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// An array to be written, as `numpy.save` writes it.
final class ArrayDraft implements Draft {
    private final byte[] header;
    private final Tensor elements;
    private final DType dtype;

    private ArrayDraft(byte[] header, Tensor elements, DType dtype) {
        this.header = header;
        this.elements = elements;
        this.dtype = dtype;
    }

    /// {@return whether a value of a state is the node of an array of NumPy}
    ///
    /// @param value the value
    static boolean isArray(Object value) {
        return value instanceof TypedMap map
                ? Kind.of(map.type()) == Kind.RECORD
                : value instanceof Typed typed && Kind.of(typed.type()) != null
                        && Kind.of(typed.type()) != Kind.OBJECT;
    }

    /// {@return whether an attribute of the node of an array is there again when the array is read}
    ///
    /// @param value a value of a state
    /// @param attribute the name of an attribute of it
    static boolean isKept(Object value, String attribute) {
        if (value instanceof TypedMap map) {
            return isArray(map) && (Set.of(ArrayNodes.DTYPE, ArrayNodes.SHAPE).contains(attribute)
                    || isOrder(attribute, map.attributes()));
        }
        Kind kind = value instanceof Typed typed ? Kind.of(typed.type()) : null;
        if (!(value instanceof Typed node) || kind == null || !isArray(node)) {
            return false;
        }
        if (!kind.isText()) {
            return attribute.equals(ArrayNodes.UNIT);
        }
        // The characters of a large array are a tensor, which has the length and the shape.
        return !(node.value() instanceof Tensor)
                && (Set.of(ArrayNodes.LENGTH, ArrayNodes.SHAPE).contains(attribute)
                        || (isOrder(attribute, node.attributes())
                                && node.attributes().get(ArrayNodes.SHAPE) instanceof Shape shape && shape.numel() > 0
                                && Arrays.stream(shape.toArray()).filter(size -> size > 1).count() > 1));
    }

    private static boolean isOrder(String attribute, Map<String, ? extends @Nullable Object> attributes) {
        return attribute.equals(ArrayNodes.FORTRAN) && Boolean.TRUE.equals(attributes.get(attribute));
    }

    /// Plans an array.
    ///
    /// @param path the path of the array in the state, for messages
    /// @param array a tensor, or a node
    /// @throws IllegalArgumentException if NumPy has no such elements
    static Draft of(String path, Object array) {
        String where = path.isEmpty() ? "the state" : path;
        if (array instanceof TypedMap records) {
            return RecordDraft.of(where, records);
        }
        Elements written = Elements.of(where, array);
        return of(where, written, written.tensor().dtype());
    }

    /// Plans an array of the elements of a tensor as another dtype, which are converted while they are written.
    ///
    /// @param path the path of the tensor in the state, for messages
    /// @param tensor the tensor
    /// @param dtype the dtype to write
    /// @throws IllegalArgumentException if NumPy has no such elements, or the tensor cannot be converted to them
    static Draft of(String path, Tensor tensor, DType dtype) {
        String where = path.isEmpty() ? "the state" : path;
        NumpyType type = Elements.type(where, dtype);
        try {
            // The exception does not depend on the elements.
            Tensor _ = Tensor.zeros(tensor.dtype(), 1).to(dtype);
        } catch (UnsupportedOperationException e) {
            throw new IllegalArgumentException(where + ": " + tensor.dtype() + " cannot be converted to " + dtype, e);
        }
        return of(where, new Elements(type, tensor), dtype);
    }

    private static Draft of(String where, Elements written, DType dtype) {
        Tensor tensor = written.tensor();
        TensorsByName.checkBytes(where, tensor);
        boolean isDecoded = tensor.dtype().blockSize() > 1;
        boolean isFortran = !isDecoded && NpyHeader.isFortran(tensor, written.inner());
        Shape shape = isDecoded ? tensor.shapeAs(dtype) : written.shape();
        return new ArrayDraft(NpyHeader.bytes(written.type(), shape, isFortran),
                isFortran ? NpyHeader.reversed(tensor, written.inner()) : tensor, dtype);
    }

    @Override
    public SequencedMap<String, Tensor> names() {
        return new LinkedHashMap<>(Map.of("", elements));
    }

    @Override
    public boolean keeps(Object value, String attribute, Set<Capability> format) {
        return isKept(value, attribute);
    }

    @Override
    public long nbytes() {
        return Math.addExact(header.length, dtype.nbytes(elements.shapeAs(dtype).numel()));
    }

    @Override
    public void writeTo(Output output) throws IOException {
        output.write(MemorySegment.ofArray(header));
        TensorBytes.write(elements, dtype, output);
    }
}
