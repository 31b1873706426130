package io.undercroft.interop.safetensors;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedCollection;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// The tensors of several files as one state. The files stay open until the contents are released.
final class ShardedContents implements Contents {
    private final TreeContents contents;
    private final List<MappedFile> files;

    private ShardedContents(TreeContents contents, List<MappedFile> files) {
        this.contents = contents;
        this.files = files;
    }

    /// Opens the shards of an index.
    ///
    /// @param index the index
    /// @param path the file of the index; the shards are beside it
    /// @param options how to open them
    static ShardedContents open(ShardIndex index, Path path, OpenOptions options) throws IOException {
        List<MappedFile> files = new ArrayList<>();
        try {
            Map<String, OpenedFile> shards = openAll(index, path, options, files);
            TreeContents contents = TreeContents
                    .of(state(index, shards), index.metadata(), () -> check(shards.values()))
                    .withUnverified(shards.values().stream().mapToInt(OpenedFile::count).sum(),
                            shards.values().stream().mapToLong(OpenedFile::nbytes).sum())
                    .only(options);
            return new ShardedContents(contents, files);
        } catch (Throwable e) {
            files.forEach(MappedFile::close);
            throw e;
        }
    }

    private static Map<String, OpenedFile> openAll(ShardIndex index, Path path, OpenOptions options,
            List<MappedFile> files) throws IOException {
        Path directory = Objects.requireNonNull(path.toRealPath().getParent());
        MapBudget budget = new MapBudget();
        Map<String, OpenedFile> shards = new LinkedHashMap<>();
        for (String name : new LinkedHashSet<>(index.shards().values())) {
            MappedFile file = MappedFile.open(locate(name, directory, options), options.mapping(), budget);
            files.add(file);
            try {
                shards.put(name, OpenedFile.of(file, options));
            } catch (FormatException e) {
                throw e.withFile(file.path().toString());
            }
        }
        return shards;
    }

    /// Beside the index, or wherever symbolic links lead below the directory that the caller named.
    private static Path locate(String name, Path directory, OpenOptions options) throws IOException {
        try {
            Path real = directory.resolve(name).toRealPath();
            boolean allowed = options.root().isPresent()
                    ? real.startsWith(options.root().get().toRealPath())
                    : directory.equals(real.getParent());
            if (!allowed) {
                throw new FormatException("SAFETENSORS-INDEX",
                        "the shard " + FormatException.quote(name) + " is a link that leads to another directory",
                        FormatException.NO_OFFSET,
                        "Name a directory with OpenOptions.root below which files may be opened");
            }
            return real;
        } catch (NoSuchFileException _) {
            throw new FormatException("SAFETENSORS-INDEX", "the shard " + FormatException.quote(name) + " is missing",
                    FormatException.NO_OFFSET, "Put it beside the index");
        }
    }

    private static SequencedMap<String, Tensor> state(ShardIndex index, Map<String, OpenedFile> shards) {
        SequencedMap<String, Tensor> state = LinkedHashMap.newLinkedHashMap(index.shards().size());
        index.shards().forEach((name, shard) -> {
            OpenedFile opened = Objects.requireNonNull(shards.get(shard));
            if (!opened.contains(name)) {
                throw ShardIndex.refused("the tensor " + FormatException.quote(name) + " is not in "
                        + FormatException.quote(shard) + ", where the index says it is", FormatException.NO_OFFSET);
            }
            state.put(name, opened.tensor(name));
        });
        addAliases(index, shards, state);
        return state;
    }

    /// An index names what is stored, so further names are in the shards only.
    private static void addAliases(ShardIndex index, Map<String, OpenedFile> shards,
            SequencedMap<String, Tensor> state) {
        shards.forEach((shard, opened) -> opened.sharing().aliases().forEach((name, stored) -> {
            if (shard.equals(index.shards().get(stored))) {
                state.putIfAbsent(name, Objects.requireNonNull(state.get(stored)));
            }
        }));
    }

    private static List<Damage> check(Collection<OpenedFile> shards) {
        return shards.stream().flatMap(shard -> shard.check().stream()).toList();
    }

    @Override
    public @Nullable Object state() {
        return contents.state();
    }

    @Override
    public Map<String, String> metadata() {
        return contents.metadata();
    }

    @Override
    public SequencedCollection<String> names() {
        return contents.names();
    }

    @Override
    public Optional<Tensor> tensor(String name) {
        return contents.tensor(name);
    }

    @Override
    public List<Storage> storages() {
        return contents.storages();
    }

    @Override
    public Verification verify() throws IOException {
        return contents.verify();
    }

    @Override
    public void release() {
        try {
            contents.release();
        } finally {
            files.forEach(MappedFile::close);
        }
    }
}
