package io.undercroft.serializer.internal.sets;

import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.internal.sets.SetRead.StorageOf;
import io.undercroft.serializer.spi.Companion;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// The tensors of a set as the state of one file: maps of tensors, as their names nest. Shards are opened, and slices
/// are put together, when a tensor is touched. Other values than tensors are in the shards only.
public final class SetContents extends TreeContents {
    private final SetFile set;
    /// The storages of the tensors, which read from the shards when they are touched.
    private final IdentityHashMap<Storage, List<StorageOf>> storages;
    private final List<Companion> companions;

    private SetContents(SetFile set, Map<String, @Nullable Object> state,
            IdentityHashMap<Storage, List<StorageOf>> storages,
            List<Companion> companions) {
        super(state, Map.of(), List::of);
        this.set = set;
        this.storages = storages;
        this.companions = companions;
    }

    /// Opens a set, and the descriptions of its tensors in all shards.
    ///
    /// @param manifest the manifest
    /// @param options how to open the shards
    /// @return its contents
    /// @throws IOException if reading fails
    public static SetContents open(MappedFile manifest, OpenOptions options) throws IOException {
        SetFile set = SetFile.open(manifest.retain(), options);
        try {
            List<Wanted> wanted = new ArrayList<>();
            for (String name : set.names()) {
                wanted.add(Wanted.all(set.tensor(name), set.device()));
            }
            IdentityHashMap<Storage, List<StorageOf>> storages = new IdentityHashMap<>();
            List<Tensor> all = new SetRead(set).later(wanted, storages);
            Map<String, @Nullable Object> state = new LinkedHashMap<>();
            for (int i = 0; i < all.size(); i++) {
                put(state, wanted.get(i).tensor().name(), all.get(i));
            }
            return new SetContents(set, state, storages, set.companions());
        } catch (Throwable e) {
            set.close();
            throw e;
        }
    }

    /// Puts a tensor where its name leads to. If another tensor is on the way, the whole name is its key.
    private static void put(Map<String, @Nullable Object> state, String name, Tensor tensor) {
        Map<String, @Nullable Object> map = state;
        String[] segments = name.split("/", -1);
        for (int i = 0; i < segments.length - 1; i++) {
            Object next = map.computeIfAbsent(StateIndex.rawName(segments[i]), _ -> new LinkedHashMap<>());
            if (!(next instanceof Map<?, ?>)) {
                state.put(name, tensor);
                return;
            }
            @SuppressWarnings("unchecked")
            Map<String, @Nullable Object> inner = (Map<String, @Nullable Object>) next;
            map = inner;
        }
        if (map.putIfAbsent(StateIndex.rawName(segments[segments.length - 1]), tensor) != null) {
            state.put(name, tensor);
        }
    }

    /// Those of the shard that has the storage. One that is made of parts of several shards has none.
    @Override
    public List<Extent> extents(Storage storage, MappedFile manifest) {
        List<StorageOf> parts = storages.getOrDefault(storage, List.of());
        if (parts.size() != 1 || !storage.device().isCpu()) {
            return List.of();
        }
        StorageOf from = parts.getFirst();
        int file = 1 + set.companionOf(from.shard());
        try {
            return set.member(from.shard())
                    .use((shard, contents) -> contents.extents(contents.storage(from.number()), shard))
                    .stream().map(extent -> new Extent(extent.start(), extent.length(), extent.place(),
                            extent.place() == Extent.Place.FILE ? file : 0, extent.offset(), extent.digest()))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Groups of storages whose shards all stay open while the group is loaded. A storage that is in too many of them
    /// is a group of its own.
    @Override
    public List<List<Storage>> loadGroups(List<Storage> wanted) {
        List<Placed> sorted = wanted.stream().map(storage -> new Placed(storage, shards(storage)))
                .sorted(Comparator.comparingInt(Placed::first)).toList();
        List<List<Storage>> groups = new ArrayList<>();
        Set<Integer> open = new HashSet<>();
        for (Placed each : sorted) {
            open.addAll(each.shards);
            if (groups.isEmpty() || !SetMember.allStayOpen(open.size())) {
                groups.add(new ArrayList<>());
                open = new HashSet<>(each.shards);
            }
            groups.getLast().add(each.storage);
        }
        return groups;
    }

    /// A storage, and the shards that have its bytes.
    private record Placed(Storage storage, SortedSet<Integer> shards) {
        int first() {
            return shards.isEmpty() ? 0 : shards.first();
        }
    }

    @Override
    public void openGroup(List<Storage> group) throws IOException {
        Set<Integer> needed = new TreeSet<>();
        group.forEach(storage -> needed.addAll(shards(storage)));
        if (SetMember.allStayOpen(needed.size())) {
            set.shared(List.copyOf(needed), number -> set.member(number).use((_, contents) -> contents));
        }
    }

    private SortedSet<Integer> shards(Storage storage) {
        return storages.getOrDefault(storage, List.of()).stream().map(StorageOf::shard)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /// Those of the shards, if all of these stay open.
    @Override
    public List<FilePiece> runs(Storage storage) {
        if (!SetMember.allStayOpen(shards(storage).size())) {
            return List.of();
        }
        List<FilePiece> runs = new ArrayList<>();
        try {
            for (StorageOf from : storages.getOrDefault(storage, List.of())) {
                runs.addAll(set.member(from.shard()).use(
                        (_, contents) -> contents.runs(contents.storage(from.number()))));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return runs;
    }

    @Override
    public List<Companion> companions() {
        return companions;
    }

    @Override
    public Verification verify() throws IOException {
        List<Damage> damages = new ArrayList<>();
        long extents = 0;
        long nbytes = 0;
        for (int number = 0; number < set.manifest().shards().size(); number++) {
            Verification found = set.member(number).use((_, contents) -> contents.verify());
            damages.addAll(found.damages());
            extents += found.unverifiedExtents();
            nbytes += found.unverifiedBytes();
        }
        return new Verification(damages, extents, nbytes);
    }

    @Override
    public void release() {
        storages.keySet().forEach(Contents::release);
        set.close();
    }
}
