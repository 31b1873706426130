package io.undercroft.interop.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.FileSet;
import io.undercroft.serializer.spi.FileSet.Model;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// How a model in several files, the *shards*, is opened by an index in JSON, as one state: the tensors that the index
/// names, in its order, and further names of these tensors in the shards.
public final class IndexedShards {
    /// Names of shards, such as `model-00001-of-00003.safetensors`.
    private static final Pattern COUNTED = Pattern.compile("-[0-9]+-of-[0-9]+[.]");
    private static final int MOST_NAMED = 3;

    private final List<String> endings;
    private final List<CheckpointFormat> formats;

    /// Indexes of shards of one kind.
    ///
    /// @param endings the suffixes of names of shards, with the dot; an index is recognised by that of the first shard
    /// @param formats those that shards can have
    public IndexedShards(List<String> endings, List<CheckpointFormat> formats) {
        this.endings = endings;
        this.formats = formats;
    }

    /// {@return whether a file is such an index}
    ///
    /// @param file the file
    /// @throws IOException if reading fails
    public boolean matches(MappedFile file) throws IOException {
        return ShardIndex.firstShard(file).filter(shard -> endings.stream().anyMatch(shard::endsWith)).isPresent();
    }

    /// {@return the names of the shards of an index}
    ///
    /// @param file the index
    /// @throws IOException if reading fails
    public static SequencedSet<String> names(MappedFile file) throws IOException {
        return new LinkedHashSet<>(ShardIndex.read(file).shards().values());
    }

    /// Opens a model.
    ///
    /// @param index what the index says
    /// @param file the index
    /// @param options the options for opening it
    /// @return the contents of the model
    /// @throws FormatException if a shard is malformed, missing, or not in a permitted directory
    /// @throws IOException if reading fails
    public Contents open(ShardIndex index, MappedFile file, OpenOptions options) throws IOException {
        OpenOptions inShards = index.inShards(options);
        List<String> names = List.copyOf(new LinkedHashSet<>(index.shards().values()));
        return FileSet.open(file, names, options, (_, shard) -> shard(shard, inShards),
                shards -> model(index, names, shards, besides(index, file)));
    }

    private Contents shard(MappedFile file, OpenOptions options) throws IOException {
        for (CheckpointFormat format : formats) {
            if (file.size() > 0 && format.matches(file)) {
                Contents contents = format.open(file, options);
                if (contents.state() instanceof Map<?, ?>) {
                    return contents;
                }
                contents.release();
                throw refused("it holds no tensors by name");
            }
        }
        throw refused("it has none of the formats " + formats.stream().map(CheckpointFormat::name).toList());
    }

    private static FormatException refused(String what) {
        return new FormatException("SHARD", what, FormatException.NO_OFFSET,
                "Check that it belongs to the index and is complete");
    }

    private static Model model(ShardIndex index, List<String> names, List<Contents> shards,
            List<UnreadPart> besides) {
        Map<String, Map<String, Tensor>> tensors = new HashMap<>();
        for (int number = 0; number < shards.size(); number++) {
            tensors.put(names.get(number), tensors(shards.get(number)));
        }
        SequencedMap<String, Tensor> state = LinkedHashMap.newLinkedHashMap(index.shards().size());
        index.shards().forEach((name, shard) -> {
            Tensor tensor = Objects.requireNonNull(tensors.get(shard)).get(name);
            if (tensor == null) {
                throw ShardIndex.refused("the tensor " + FormatException.quote(name) + " is not in "
                        + FormatException.quote(shard) + ", in which the index places it", FormatException.NO_OFFSET);
            }
            state.put(name, tensor);
        });
        index.aliases().forEach((alias, name) -> state.putIfAbsent(alias, Objects.requireNonNull(state.get(name))));
        // Most indexes name only what is stored; then further names of the same tensors are in the shards.
        Set<Tensor> stored = new HashSet<>(state.values());
        names.forEach(shard -> Objects.requireNonNull(tensors.get(shard)).forEach((name, tensor) -> {
            if (stored.contains(tensor)) {
                state.putIfAbsent(name, tensor);
            }
        }));
        List<UnreadPart> unread = new ArrayList<>();
        for (int number = 0; number < shards.size(); number++) {
            unread.addAll(unread(shards.get(number), names.get(number), stored));
        }
        unread.addAll(besides);
        return new Model(state, index.metadata(), unread);
    }

    private static Map<?, ?> stateOf(Contents shard) {
        return (Map<?, ?>) Objects.requireNonNull(shard.state());
    }

    private static SequencedMap<String, Tensor> tensors(Contents shard) {
        SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
        stateOf(shard).forEach((key, value) -> {
            Tensor tensor = TensorsByName.tensorIn(value);
            if (key instanceof String text && tensor != null) {
                tensors.put(text, tensor);
            }
        });
        return tensors;
    }

    /// {@return the parts of a shard that are not tensors of the set}
    private static List<UnreadPart> unread(Contents shard, String name, Set<Tensor> known) {
        UnreadParts others = new UnreadParts("value");
        Set<Storage> counted = new HashSet<>();
        stateOf(shard).forEach((key, value) -> {
            Tensor tensor = TensorsByName.tensorIn(value);
            if (tensor == null) {
                others.add(String.valueOf(key), 0, 0);
            } else if (!known.contains(tensor)) {
                others.add(String.valueOf(key), 0, counted.add(tensor.storage()) ? tensor.storage().nbytes() : 0);
            }
        });
        return others.part().map(part -> new UnreadPart(part.kind(), part.what() + ", in the shard "
                + FormatException.quote(name), part.offset(), part.nbytes())).stream().toList();
    }

    /// {@return the files next to the index that look like its shards, and that it does not name} None if the directory
    /// cannot be listed.
    private List<UnreadPart> besides(ShardIndex index, MappedFile file) {
        if (file.source().isPresent()) {
            return List.of();
        }
        String stem = String.valueOf(file.path().getFileName()).split("[.]", 2)[0];
        Set<String> named = new HashSet<>(index.shards().values());
        try (Stream<Path> files = Files.list(Objects.requireNonNull(file.path().toAbsolutePath().getParent()))) {
            List<String> others = files.filter(Files::isRegularFile).map(other -> other.getFileName().toString())
                    .filter(name -> endings.stream().anyMatch(name::endsWith) && !named.contains(name))
                    .filter(name -> name.startsWith(stem) || COUNTED.matcher(name).find()).sorted().toList();
            return others.isEmpty()
                    ? List.of()
                    : List.of(new UnreadPart(Kind.RECORD,
                            String.format(Locale.ROOT, "%,d %s next to the index that it does not name: %s%s",
                                    others.size(), others.size() == 1 ? "file" : "files",
                                    others.stream().limit(MOST_NAMED).map(FormatException::quote)
                                            .collect(Collectors.joining(", ")),
                                    others.size() > MOST_NAMED ? ", …" : ""),
                            0, 0));
        } catch (IOException | UncheckedIOException _) {
            return List.of();
        }
    }
}
