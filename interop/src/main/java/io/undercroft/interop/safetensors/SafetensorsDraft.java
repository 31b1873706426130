package io.undercroft.interop.safetensors;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.FormatSettings;
import io.undercroft.interop.internal.JsonWriter;
import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.interop.internal.TensorBytes;
import io.undercroft.interop.safetensors.SharingMetadata.View;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport.Loss;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;

/// A file to be written: its header and the tensors behind it.
final class SafetensorsDraft implements Draft {
    private final byte[] header;
    private final List<Part> parts;
    private final SequencedMap<String, Tensor> names;
    private final List<Loss> losses;

    private SafetensorsDraft(byte[] header, List<Part> parts, SequencedMap<String, Tensor> names,
            List<Loss> losses) {
        this.header = header;
        this.parts = parts;
        this.names = names;
        this.losses = losses;
    }

    /// A tensor that is written.
    private static final class Part {
        /// The order of the reference implementation.
        static final Comparator<Part> ORDER = Comparator.<Part>comparingInt(part -> part.type.order()).reversed()
                .thenComparing(part -> part.utf8, Arrays::compareUnsigned);

        private final String name;
        private final byte[] utf8;
        private final SafetensorsType type;
        private final Tensor tensor;

        Part(String name, Tensor tensor) {
            if (name.equals(SafetensorsHeader.METADATA)) {
                throw new IllegalArgumentException(name + ": no tensor can have this name in a safetensors file");
            }
            this.name = name;
            this.utf8 = name.getBytes(UTF_8);
            this.type = SafetensorsType.of(tensor.dtype()).orElseThrow(() -> new IllegalArgumentException(
                    name + ": safetensors has no dtype for elements of " + tensor.dtype()
                            + "; " + TensorBytes.remedy(tensor.dtype())));
            this.tensor = tensor;
            if (tensor.dim() == 0 && tensor.dtype().equals(DType.FLOAT4_E2M1FN_X2)) {
                throw new IllegalArgumentException(
                        name + ": safetensors counts two elements in each byte along the last dimension, and there is "
                                + "none; write view(1)");
            }
            if (!tensor.dtype().isByteSized() && tensor.numel() % Byte.SIZE * tensor.dtype().bits() % Byte.SIZE != 0) {
                throw new IllegalArgumentException(name + ": the elements do not fill whole bytes");
            }
            try {
                SafetensorsHeader.nbits(type, sizes());
                // In the file a size may be twice as large as here.
                Shape.of(sizes()).contiguousStride();
            } catch (ArithmeticException | IllegalArgumentException e) {
                throw TensorsByName.uncountable(name, tensor, e);
            }
        }

        long[] sizes() {
            return SafetensorsType.sizesInFile(tensor.shape(), tensor.dtype());
        }
    }

    /// Plans a file.
    ///
    /// @param tensors the tensors by name
    /// @param options the metadata, and whether sharing is kept
    /// @return the file to be
    /// @throws IllegalArgumentException if the format has no place for something
    static SafetensorsDraft of(SequencedMap<String, Tensor> tensors, SaveOptions options) {
        SharingPlan plan = plan(tensors, options);
        List<Part> parts = new ArrayList<>();
        plan.written().forEach((name, tensor) -> parts.add(new Part(name, tensor)));
        parts.sort(Part.ORDER);
        byte[] header = header(parts, metadata(plan, options.metadata()));
        if (header.length - SafetensorsHeader.PREFIX > SafetensorsHeader.LONGEST) {
            throw new IllegalArgumentException("the header would take " + header.length + " bytes; safetensors allows "
                    + SafetensorsHeader.LONGEST + ". Save fewer tensors, or shorter names and metadata");
        }
        return new SafetensorsDraft(header, parts, tensors, plan.losses());
    }

    static SharingPlan plan(SequencedMap<String, Tensor> tensors, SaveOptions options) {
        FormatSettings settings = options::setting;
        return settings.isOther(SafetensorsContents.SHARING, "keep", "copy")
                ? SharingPlan.copying(tensors)
                : SharingPlan.keeping(tensors);
    }

    private static Map<String, String> metadata(SharingPlan plan, Map<String, String> text) {
        text.forEach((key, value) -> {
            boolean looksLikeSharing = key.equals(SharingMetadata.VIEWS) || plan.aliases().containsKey(key)
                    || SharingMetadata.isAlias(key, value, plan.written());
            if (looksLikeSharing && !value.equals(plan.aliases().get(key))) {
                throw new IllegalArgumentException("the metadata " + FormatException.quote(key)
                        + " would be read as the name of a tensor that shares its storage; call it otherwise");
            }
        });
        for (String taken : List.of(SharingMetadata.FORMAT, SharingMetadata.VIEWS)) {
            if (plan.aliases().containsKey(taken)) {
                throw new IllegalArgumentException(
                        taken + ": a tensor of this name cannot be one that is under another name, too");
            }
        }
        LinkedHashMap<String, String> metadata = new LinkedHashMap<>(text);
        metadata.putAll(plan.aliases());
        if (!plan.views().isEmpty()) {
            metadata.put(SharingMetadata.VIEWS, views(plan.views()));
        }
        // Transformers 4 accepts a file without metadata, but none whose metadata lacks this.
        if (!metadata.isEmpty() && !metadata.containsKey(SharingMetadata.FORMAT)) {
            metadata.putFirst(SharingMetadata.FORMAT, "pt");
        }
        return metadata;
    }

    private static String views(Map<String, View> views) {
        JsonWriter json = new JsonWriter(false).open();
        views.forEach((name, view) -> json.member(name).open().member("base").string(view.base()).member("offset")
                .number(view.offset()).member("stride").numbers(view.strides()).close());
        return json.close().toString();
    }

    /// {@return the length of the header and its text, with spaces behind it up to a multiple of 8 bytes}
    private static byte[] header(List<Part> parts, Map<String, String> metadata) {
        JsonWriter json = new JsonWriter(false).open();
        if (!metadata.isEmpty()) {
            json.member(SafetensorsHeader.METADATA).open();
            metadata.forEach((key, value) -> json.member(key).string(value));
            json.close();
        }
        long offset = 0;
        for (Part part : parts) {
            long end = Math.addExact(offset, part.tensor.nbytes());
            json.member(part.name).open().member("dtype").string(part.type.name()).member("shape")
                    .numbers(part.sizes()).member("data_offsets").numbers(offset, end).close();
            offset = end;
        }
        byte[] text = json.close().toString().getBytes(UTF_8);
        int length = Math.ceilDiv(text.length, Long.BYTES) * Long.BYTES;
        byte[] header = Arrays.copyOf(ByteBuffer.allocate(SafetensorsHeader.PREFIX + text.length)
                .order(ByteOrder.LITTLE_ENDIAN).putLong(length).put(text).array(), SafetensorsHeader.PREFIX + length);
        Arrays.fill(header, SafetensorsHeader.PREFIX + text.length, header.length, (byte) ' ');
        return header;
    }

    @Override
    public long nbytes() {
        return header.length + parts.stream().mapToLong(part -> part.tensor.nbytes()).sum();
    }

    @Override
    public SequencedMap<String, Tensor> names() {
        return names;
    }

    @Override
    public List<Loss> losses() {
        return losses;
    }

    @Override
    public void writeTo(Output output) throws IOException {
        output.write(MemorySegment.ofArray(header));
        for (Part part : parts) {
            TensorBytes.write(part.tensor, output);
        }
    }
}
