package io.undercroft.interop.numpy;

import io.undercroft.interop.internal.NamedTensors;
import io.undercroft.interop.internal.TensorBytes;
import io.undercroft.interop.internal.numpy.NumpyType.Kind;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// An array to be written, as `numpy.save` writes it.
final class ArrayDraft implements Draft {
    private final byte[] header;
    private final Tensor elements;

    private ArrayDraft(byte[] header, Tensor elements) {
        this.header = header;
        this.elements = elements;
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
        Tensor tensor = written.tensor();
        NamedTensors.checkBytes(where, tensor);
        boolean isFortran = NpyHeader.isFortran(tensor, written.inner());
        return new ArrayDraft(NpyHeader.bytes(where, written.type(), written.shape(), isFortran),
                isFortran ? NpyHeader.reversed(tensor, written.inner()) : tensor);
    }

    @Override
    public long nbytes() {
        return Math.addExact(header.length, elements.nbytes());
    }

    @Override
    public void writeTo(Output output) throws IOException {
        output.write(MemorySegment.ofArray(header));
        TensorBytes.write(elements, output);
    }
}
