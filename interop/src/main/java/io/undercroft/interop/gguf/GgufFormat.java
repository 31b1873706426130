package io.undercroft.interop.gguf;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.FileSet;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.ByteOrder;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.SequencedSet;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Files of GGUF, versions 1 to 3.
///
/// **Reading.** Both byte orders; in a big-endian file numbers are swapped when a tensor is first touched, and blocks
/// are refused. A tensor of a type that is not known is [Unreadable], the others are read. The metadata is in the
/// attributes of the state, and as text, but for arrays, in [Contents#metadata]; the elements of an array are decoded
/// when they are read. There are no checksums, so verifying finds nothing. The first file of a model that llama.cpp has
/// split opens the whole model, from the files next to it that are called as llama.cpp calls them.
///
/// **Writing.** Version 3, little-endian: tensors by name whose dtype ggml has, blocks included, with the attributes of
/// the state and the metadata of the options, as strings. Bytes are aligned to `general.alignment` if the state sets
/// it, else to 32. Sharing is not kept.
public final class GgufFormat implements CheckpointFormat {
    static final String NAME = "gguf";

    /// For the service loader.
    public GgufFormat() {}

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return file.startsWith(GgufHeader.MAGIC);
    }

    @Override
    public SequencedSet<String> companionNames(MappedFile file) throws IOException {
        SequencedSet<String> names = new LinkedHashSet<>(
                SplitModel.of(GgufHeader.read(file, ReadBudget.of(file.size()))).files(file));
        names.remove("");
        return names;
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        ReadBudget budget = ReadBudget.of(file.size());
        GgufHeader header = GgufHeader.read(file, budget);
        SplitModel model = SplitModel.of(header);
        List<String> files = model.files(file);
        if (files.isEmpty()) {
            TreeContents contents = contents(file, header, options, budget);
            return contents.withUnread(Stream.concat(model.others(file, header.tensors().size()).stream(),
                    contents.unread().stream()).toList());
        }
        return FileSet.open(file, files, options, (number, part) -> {
            ReadBudget ofPart = ReadBudget.of(part.size());
            GgufHeader inPart = GgufHeader.read(part, ofPart);
            model.check(number, SplitModel.of(inPart));
            return contents(part, inPart, options, ofPart);
        }, parts -> model.union(parts, text(header.values())));
    }

    private TreeContents contents(MappedFile file, GgufHeader header, OpenOptions options, ReadBudget budget)
            throws IOException {
        FileStorages storages = new FileStorages(file, options);
        TypedMap state = new TypedMap(name());
        header.tensors().forEach((name, info) -> {
            TensorType type = info.type();
            if (type == null) {
                state.put(name, unknown(info, header.data(), budget));
                return;
            }
            Storage storage = options.isChosen(StateIndex.escape(name))
                    ? storage(header, info, type, storages)
                    : Storage.meta(info.nbytes());
            state.put(name, Tensor.of(storage, type.dtype(), 0, info.shape(), info.shape().contiguousStride()));
        });
        state.attributes().putAll(header.values());
        return TreeContents.of(state, text(header.values()), _ -> List.of(), budget)
                .withUnverified(header.tensors().size(),
                        header.tensors().values().stream().mapToLong(GgufHeader.TensorInfo::nbytes).sum())
                .withUnread(header.besides(file.size())).only(options);
    }

    /// The other tensors of the file stay available, also if llama.cpp has more types than are known here.
    private static Tensor unknown(GgufHeader.TensorInfo info, long data, ReadBudget budget) {
        budget.takeMemory(ReadBudget.UNREADABLE);
        return Unreadable.tensor(new FormatException("GGUF-TYPE",
                "its type in ggml has the number " + Integer.toUnsignedString(info.code())
                        + ", which is not known here; its sizes are " + info.shape(),
                data + (info.nbytes() == 0 ? 0 : info.offset()),
                "Use a newer version of Undercroft, or requantize the model with llama.cpp"), info.shape());
    }

    private static Storage storage(GgufHeader header, GgufHeader.TensorInfo info, TensorType type,
            FileStorages storages) {
        // An empty tensor may claim any offset.
        long offset = header.data() + (info.nbytes() == 0 ? 0 : info.offset());
        DType dtype = type.dtype();
        if (header.order() != ByteOrder.nativeOrder() && dtype.itemsize() > 1 && !type.isPlain()) {
            throw new FormatException("GGUF-ENDIAN", "tensor " + FormatException.quote(info.name())
                    + " has blocks in the other byte order", offset, "Convert the file on a machine of its byte order");
        }
        return storages.stored(offset, info.nbytes(), dtype, header.order());
    }

    private static Map<String, String> text(Map<String, ? extends @Nullable Object> values) {
        Map<String, String> text = new LinkedHashMap<>();
        values.forEach((key, value) -> {
            Object plain = value instanceof Typed typed ? typed.value() : value;
            if (plain instanceof String || plain instanceof Number || plain instanceof Boolean) {
                text.put(key, plain.toString());
            }
        });
        return Collections.unmodifiableMap(text);
    }

    @Override
    public Set<Capability> capabilities() {
        return Set.of(Capability.SAVE, Capability.METADATA);
    }

    @Override
    public Draft draft(@Nullable Object state, SaveOptions options) {
        Map<String, @Nullable Object> values = new LinkedHashMap<>();
        if (state instanceof TypedMap typed && typed.type().equals(name())) {
            values.putAll(typed.attributes());
        }
        Map<String, String> known = text(values);
        options.metadata().forEach((key, value) -> {
            if (!known.getOrDefault(key, value).equals(value)) {
                throw new IllegalArgumentException("the metadata " + FormatException.quote(key) + " is "
                        + FormatException.quote(value) + ", and in the state it is "
                        + FormatException.quote(known.getOrDefault(key, "")));
            }
            values.putIfAbsent(key, value);
        });
        return GgufDraft.of(TensorsByName.of(state, name()), values, state);
    }
}
