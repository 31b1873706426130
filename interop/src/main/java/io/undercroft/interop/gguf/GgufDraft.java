package io.undercroft.interop.gguf;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.interop.internal.TensorBytes;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.SaveReport.Loss;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// A file to be written: its header and the tensors behind it, each from a multiple of the alignment on.
final class GgufDraft implements Draft {
    /// The length from which llama.cpp refuses names, in bytes. Other programs accept them, so such names are read.
    private static final int TOO_LONG_NAME = 64;
    /// The name of what llama.cpp runs the model as, without which it does not load a file.
    private static final String ARCHITECTURE = "general.architecture";

    private final byte[] header;
    private final SequencedMap<String, Tensor> tensors;
    private final long alignment;
    private final @Nullable Object state;
    private final boolean hasArchitecture;

    private GgufDraft(byte[] header, SequencedMap<String, Tensor> tensors, long alignment, @Nullable Object state,
            boolean hasArchitecture) {
        this.state = state;
        this.header = header;
        this.tensors = tensors;
        this.alignment = alignment;
        this.hasArchitecture = hasArchitecture;
    }

    /// Plans a file.
    ///
    /// @param tensors the tensors by name
    /// @param values the metadata
    /// @param state the state, whose attributes the metadata has if it is that of a file
    /// @return the file to be
    /// @throws IllegalArgumentException if the format has no place for something
    static GgufDraft of(SequencedMap<String, Tensor> tensors, Map<String, @Nullable Object> values,
            @Nullable Object state) {
        long alignment = GgufHeader.alignment(values).orElseThrow(() -> new IllegalArgumentException(
                GgufHeader.ALIGNMENT + " has to be a power of two of the type " + ValueType.UINT32.scalarName()
                        + " up to " + GgufHeader.LARGEST_ALIGNMENT));
        HeaderBytes header = new HeaderBytes();
        header.bytes(GgufHeader.MAGIC).u32(GgufHeader.NEWEST).u64(tensors.size()).u64(values.size());
        values.forEach((key, value) -> {
            if (key.isEmpty() || key.getBytes(UTF_8).length > GgufHeader.LONGEST_KEY) {
                throw new IllegalArgumentException("a key of metadata has 1 to " + GgufHeader.LONGEST_KEY + " bytes");
            }
            header.string(key, key).value(key, value);
        });
        long offset = 0;
        for (var tensor : tensors.entrySet()) {
            writeInfo(tensor.getKey(), tensor.getValue(), offset, header);
            offset = Math.addExact(offset, padded(tensor.getValue().nbytes(), alignment));
        }
        return new GgufDraft(header.toByteArray(), tensors, alignment, state,
                values.get(ARCHITECTURE) instanceof String);
    }

    private static void writeInfo(String name, Tensor tensor, long offset, HeaderBytes header) {
        TensorType type = TensorType.of(tensor.dtype()).orElseThrow(() -> new IllegalArgumentException(
                name + ": gguf has no type for elements of " + tensor.dtype()
                        + "; " + TensorBytes.remedy(tensor.dtype())));
        if (name.getBytes(UTF_8).length >= TOO_LONG_NAME) {
            throw new IllegalArgumentException(name + ": the name of a tensor in a gguf file is shorter than "
                    + TOO_LONG_NAME + " bytes");
        }
        int rank = tensor.dim();
        if (rank > GgufHeader.MOST_DIMENSIONS || (rank == 0 && type.block() > 1)) {
            throw new IllegalArgumentException(
                    name + ": a tensor of " + rank + " dimensions has no place in a gguf file");
        }
        Shape numbers = numbers(name, tensor);
        header.string(name, name).u32(rank);
        for (int dim = rank - 1; dim >= 0; dim--) {
            header.u64(numbers.size(dim));
        }
        header.u32(type.code()).u64(offset);
    }

    /// {@return the shape that a file has, whose last size counts numbers where that of the tensor counts blocks}
    private static Shape numbers(String name, Tensor tensor) {
        try {
            Shape numbers = tensor.shapeAs(DType.FLOAT32);
            // Checked, as by the reader.
            numbers.contiguousStride();
            return numbers;
        } catch (IllegalArgumentException e) {
            throw TensorsByName.uncountable(name, tensor, e);
        }
    }

    private static long padded(long nbytes, long alignment) {
        return Math.addExact(nbytes, -nbytes & (alignment - 1));
    }

    @Override
    public long nbytes() {
        return tensors.values().stream().mapToLong(tensor -> padded(tensor.nbytes(), alignment)).reduce(
                padded(header.length, alignment), Math::addExact);
    }

    @Override
    public SequencedMap<String, Tensor> names() {
        return tensors;
    }

    @Override
    public List<Loss> losses() {
        return hasArchitecture ? List.of() : List.of(Loss.of(Kind.REQUIRED_METADATA, List.of(ARCHITECTURE)));
    }

    @Override
    public boolean keeps(Object value, String attribute, Set<Capability> format) {
        return value == state && value instanceof TypedMap map && map.type().equals(GgufFormat.NAME);
    }

    @Override
    public void writeTo(Output output) throws IOException {
        output.write(MemorySegment.ofArray(header));
        output.align(alignment);
        for (Tensor tensor : tensors.values()) {
            TensorBytes.write(tensor, output);
            output.align(alignment);
        }
    }
}
