package io.undercroft.interop.internal;

import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.spi.Companion;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Stream;

/// The tensors of several files as one state. The files stay open until the contents are released.
final class ShardedContents extends TreeContents {
    private final List<ShardFile> shards;

    private ShardedContents(SequencedMap<String, Tensor> state, Map<String, String> metadata, List<ShardFile> shards) {
        super(state, metadata, List::of);
        this.shards = shards;
    }

    /// Puts the state together.
    ///
    /// @param index the index of the tensors of the set
    /// @param shards the open shards by the names that the index has for them; they belong to what is returned
    /// @param options the tensors that were chosen
    /// @param besides what else is next to the index
    static TreeContents of(ShardIndex index, Map<String, ShardFile> shards, OpenOptions options,
            List<UnreadPart> besides) {
        List<ShardFile> all = List.copyOf(shards.values());
        SequencedMap<String, Tensor> state = state(index, shards);
        Set<Tensor> tensors = new HashSet<>(state.values());
        return new ShardedContents(state, index.metadata(), all).only(options).withUnread(
                Stream.concat(all.stream().flatMap(shard -> shard.besides(tensors).stream()), besides.stream())
                        .toList());
    }

    private static SequencedMap<String, Tensor> state(ShardIndex index, Map<String, ShardFile> shards) {
        SequencedMap<String, Tensor> state = LinkedHashMap.newLinkedHashMap(index.shards().size());
        index.shards().forEach(
                (name, shard) -> state.put(name, Objects.requireNonNull(shards.get(shard)).tensor(name)));
        index.aliases().forEach((alias, name) -> state.putIfAbsent(alias, Objects.requireNonNull(state.get(name))));
        addFurtherNames(shards, state);
        return state;
    }

    /// Most indexes name only what is stored; then further names of the same tensors are in the shards.
    private static void addFurtherNames(Map<String, ShardFile> shards, SequencedMap<String, Tensor> state) {
        Set<Tensor> stored = new HashSet<>(state.values());
        shards.values().forEach(shard -> shard.tensors().forEach((name, tensor) -> {
            if (stored.contains(tensor)) {
                state.putIfAbsent(name, tensor);
            }
        }));
    }

    @Override
    public List<Extent> extents(Storage storage, MappedFile index) {
        for (int number = 0; number < shards.size(); number++) {
            ShardFile shard = shards.get(number);
            List<Extent> extents = shard.contents().extents(storage, shard.file());
            if (!extents.isEmpty()) {
                int file = 1 + number;
                return extents.stream().map(extent -> new Extent(extent.start(), extent.length(), extent.place(), file,
                        extent.offset(), extent.digest())).toList();
            }
        }
        return List.of();
    }

    @Override
    public List<Companion> companions() {
        return shards.stream().map(shard -> Companion.of(shard.file())).toList();
    }

    @Override
    public List<ForeignClass> foreignClasses() {
        Map<String, ForeignClass> classes = new LinkedHashMap<>();
        shards.stream().flatMap(shard -> shard.contents().foreignClasses().stream())
                .forEach(each -> classes.merge(each.name(), each, (one, other) -> new ForeignClass(one.name(),
                        one.objects() + other.objects(), one.isDangerous())));
        return List.copyOf(classes.values());
    }

    @Override
    public Verification verify() throws IOException {
        List<Damage> damages = new ArrayList<>();
        long extents = 0;
        long nbytes = 0;
        for (ShardFile shard : shards) {
            Verification verification = shard.verify();
            damages.addAll(verification.damages());
            extents += verification.unverifiedExtents();
            nbytes += verification.unverifiedBytes();
        }
        return new Verification(damages, extents, nbytes);
    }

    @Override
    public void release() {
        ShardFile.closeAll(shards);
    }
}
