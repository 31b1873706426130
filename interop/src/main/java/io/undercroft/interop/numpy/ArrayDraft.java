package io.undercroft.interop.numpy;

import io.undercroft.interop.internal.NamedTensors;
import io.undercroft.interop.internal.TensorBytes;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
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

    /// Plans an array.
    ///
    /// @param path the path of the tensor in the state, for messages
    /// @param tensor the tensor
    /// @throws IllegalArgumentException if NumPy has no such elements
    static ArrayDraft of(String path, Tensor tensor) {
        String where = path.isEmpty() ? "the state" : path;
        String descr = NumpyType.descr(tensor.dtype()).orElseThrow(() -> new IllegalArgumentException(
                where + ": NumPy has no elements of type " + tensor.dtype() + "; convert the tensor with Tensor.to"));
        NamedTensors.checkBytes(where, tensor);
        return new ArrayDraft(NpyHeader.bytes(descr, tensor),
                NpyHeader.isFortran(tensor) ? NpyHeader.reversed(tensor) : tensor);
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
