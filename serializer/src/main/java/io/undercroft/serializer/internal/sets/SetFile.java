package io.undercroft.serializer.internal.sets;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.SetIndex;
import io.undercroft.format.internal.SetManifest;
import io.undercroft.format.internal.Shard;
import io.undercroft.format.internal.SlicePart;
import io.undercroft.format.internal.SlicedTensor;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.MatchReport;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.serializer.internal.CroftContents;
import io.undercroft.serializer.internal.FileSource;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.loading.NameLookup;
import io.undercroft.serializer.internal.sets.SetContents.Place;
import io.undercroft.serializer.internal.sets.SetRead.Plan;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/// An open set of `.croft` files: its manifest, which says which boxes of which tensor are in which shard, and the
/// shards. Safe for any thread.
public final class SetFile implements AutoCloseable {
    private final SetManifest set;
    private final OpenOptions options;
    private final OpenSet<CroftContents> files;
    /// The parts of tensors, by the names of these.
    private final Map<String, List<SlicePart>> parts = new ConcurrentHashMap<>();
    private @Nullable SetIndex index;
    private @Nullable NameLookup lookup;

    private SetFile(MappedFile manifest, SetManifest set, OpenOptions options) throws IOException {
        this.set = set;
        this.options = options;
        this.index = set.index().orElse(null);
        OpenOptions onHost = options.device(Device.CPU);
        this.files = new OpenSet<>(manifest, set.shards().stream().map(Shard::path).toList(), onHost,
                (number, file) -> CroftContents.open(file, set.shards().get(number), onHost),
                (what, _) -> Rule.V21_SHARD.broken(what, FormatException.NO_OFFSET));
    }

    /// Opens a set, and checks that the shards are those that the manifest names: of these that have a part of a tensor
    /// that the options choose, if it says which these are.
    ///
    /// @param manifest the manifest, which then belongs to the set, also if this throws
    /// @param options how to open the shards
    /// @return the set
    /// @throws FormatException by rule V21 if a shard is missing or another file; by others if the manifest is
    ///     malformed
    /// @throws IOException if reading fails
    public static SetFile open(MappedFile manifest, OpenOptions options) throws IOException {
        try (manifest) {
            SetFile opened = new SetFile(manifest, SetManifest.read(new FileSource(manifest), Limits.DEFAULT), options);
            try {
                opened.checkShards();
                return opened;
            } catch (Throwable e) {
                opened.close();
                throw e;
            }
        } catch (FormatException e) {
            throw e.withFile(manifest.location());
        }
    }

    /// All are checked, so that of several faults always the same one is thrown.
    private void checkShards() throws IOException {
        Map<Integer, FormatException> faults = new ConcurrentSkipListMap<>();
        files.shared(needed().stream().boxed().toList(), number -> {
            try {
                check(number);
            } catch (FormatException e) {
                faults.put(number, e);
            }
        });
        for (FormatException first : faults.values()) {
            throw faults.size() == 1
                    ? first
                    : new FormatException(first.code(), first.what() + "; in all " + faults.size()
                            + " shards are missing or others than those that were saved", first.offset(),
                            first.remedy(), first).withFile(
                                    first.file() == null ? location() : first.file());
        }
    }

    /// Checks that a shard is there and is the right file, and leaves nothing open.
    private void check(int number) throws IOException {
        try (MappedFile found = files.file(number)) {
            try {
                set.shards().get(number).check(new FileSource(found), Limits.DEFAULT);
            } catch (FormatException e) {
                throw Formats.namingLookalike(e, found).withFile(found.location());
            }
        }
    }

    private BitSet needed() {
        BitSet needed = new BitSet();
        if (!options.isPartial() || set.index().isEmpty()) {
            needed.set(0, files.size());
            return needed;
        }
        set.index().get().tensors().values().stream().filter(tensor -> options.isChosen(tensor.name()))
                .forEach(tensor -> parts(tensor).forEach(part -> needed.set(part.shard())));
        return needed;
    }

    /// {@return the manifest}
    public SetManifest manifest() {
        return set;
    }

    /// {@return the path or the URI of the manifest, for messages}
    public String location() {
        return files.index().location();
    }

    OpenOptions options() {
        return options;
    }

    /// {@return the shards}
    public OpenSet<CroftContents> files() {
        return files;
    }

    /// {@return the tensors of the set} A manifest without them is completed by those of all shards, which are read
    /// then.
    ///
    /// @throws FormatException if the shards do not belong together
    /// @throws IOException if a shard cannot be read
    public synchronized SetIndex index() throws IOException {
        SetIndex existing = index;
        if (existing == null) {
            @Nullable
            ShardTensors[] tensors = new ShardTensors[files.size()];
            files.shared(IntStream.range(0, tensors.length).boxed().toList(),
                    number -> tensors[number] = files.use(number, (_, contents) -> ShardTensors.of(contents)));
            existing = SetBuilder.index(set.shards(), Arrays.stream(tensors).map(Objects::requireNonNull).toList());
            index = existing;
        }
        return existing;
    }

    /// {@return the names of the tensors that the options choose}
    ///
    /// @throws IOException as [#index]
    public List<String> names() throws IOException {
        return index().names().stream().filter(options::isChosen).toList();
    }

    /// {@return a tensor}
    ///
    /// @param name its name
    /// @throws NoSuchElementException if there is none, or it was not chosen
    /// @throws IOException as [#index]
    public SlicedTensor tensor(String name) throws IOException {
        Optional<SlicedTensor> exact = index().find(name).filter(_ -> options.isChosen(name));
        Optional<SlicedTensor> found = exact.isPresent()
                ? exact
                : lookup().find(name).flatMap(index()::find);
        if (found.isEmpty()) {
            throw new NoSuchElementException(location() + " has no tensor " + FormatException.quote(name) + " among "
                    + (options.isPartial()
                            ? "the " + names().size() + " that were chosen"
                            : "its "
                                    + index().tensors().size())
                    + "; a tensor of which each of several shards has one of its own is read from the shard");
        }
        return found.get();
    }

    /// Finds tensors by the keys that lead to them, as for one file.
    synchronized NameLookup lookup() throws IOException {
        NameLookup existing = lookup;
        if (existing == null) {
            Set<String> names = Set.copyOf(names());
            existing = new NameLookup(names::contains, test -> names.stream().anyMatch(test));
            lookup = existing;
        }
        return existing;
    }

    /// {@return the parts of a tensor of the set, checked}
    ///
    /// @param tensor the tensor
    /// @throws FormatException by rule V22 if they are not the whole tensor
    public List<SlicePart> parts(SlicedTensor tensor) {
        List<SlicePart> existing = parts.get(tensor.name());
        if (existing == null) {
            existing = tensor.parts(set.shards());
            parts.put(tensor.name(), existing);
        }
        return existing;
    }

    /// {@return the device that tensors of the set are read to if the caller names none: where the options load what
    /// was saved from the CPU}
    public Device device() {
        return options.deviceFor(Device.CPU);
    }

    /// Plans the read of a whole tensor.
    ///
    /// @param name its name
    /// @return the plan
    /// @throws NoSuchElementException as [#tensor]
    /// @throws IOException as [#index]
    public Plan plan(String name) throws IOException {
        SlicedTensor tensor = tensor(name);
        return plan(tensor, Box.all(tensor.shape()), device());
    }

    /// Plans the read of a box of a tensor.
    ///
    /// @param name its name
    /// @param offset the first element, in each dimension
    /// @param size how many, in each dimension
    /// @param device where to
    /// @return the plan
    /// @throws IndexOutOfBoundsException if the box is not inside the tensor
    /// @throws NoSuchElementException as [#tensor]
    /// @throws IOException as [#index]
    public Plan plan(String name, long[] offset, long[] size, Device device) throws IOException {
        SlicedTensor tensor = tensor(name);
        Box box = new Box(offset.clone(), size.clone());
        if (!box.isIn(tensor.shape())) {
            throw new IndexOutOfBoundsException("the slice of the shape " + Arrays.toString(size) + " at "
                    + Arrays.toString(offset) + " is not inside the tensor " + FormatException.quote(tensor.name())
                    + " of the shape " + Arrays.toString(tensor.shape()));
        }
        return plan(tensor, box, device);
    }

    private Plan plan(SlicedTensor tensor, Box box, Device device) {
        return Plan.of(tensor, box, device, box.isEmpty() || device.isMeta() ? List.of() : parts(tensor));
    }

    /// Reads boxes of tensors; see [SetRead].
    ///
    /// @param plans the boxes
    /// @return a tensor for each
    /// @throws FormatException if a shard is missing, damaged, or has another tensor
    /// @throws IOException if reading fails
    public List<Tensor> read(List<Plan> plans) throws IOException {
        return new SetRead(this).run(plans);
    }

    /// Copies boxes of tensors into those of a state; see [io.undercroft.serializer.ShardSet#loadInto].
    ///
    /// @param tree the state, in which slices are nodes
    /// @param isStrict whether the set needs to have all tensors of the state
    /// @return the report of the comparison
    /// @throws IOException if reading fails; nothing was changed then
    public MatchReport load(@Nullable Object tree, boolean isStrict) throws IOException {
        return SetLoad.run(this, tree, isStrict);
    }

    /// {@return what a tensor is}
    ///
    /// @param tensor the tensor
    public static TensorSpec spec(SlicedTensor tensor) {
        return new TensorSpec(DType.opaque(tensor.dtype().name(), tensor.dtype().bits()), Shape.of(tensor.shape()));
    }

    // ---- as one file ----

    /// Opens the tensors of a set as the state of one file: maps of tensors, as their names nest. Shards are opened,
    /// and slices are put together, when a tensor is touched. Other values than tensors are in the shards only.
    ///
    /// @param manifest the manifest
    /// @param options how to open the shards
    /// @return its contents
    /// @throws IOException if reading fails
    public static Contents contents(MappedFile manifest, OpenOptions options) throws IOException {
        SetFile set = open(manifest.retain(), options);
        try {
            List<Plan> plans = new ArrayList<>();
            for (String name : set.names()) {
                plans.add(set.plan(name));
            }
            Map<Storage, List<Place>> storages = new HashMap<>();
            List<Tensor> all = new SetRead(set).later(plans, storages);
            Map<String, @Nullable Object> state = new LinkedHashMap<>();
            for (int i = 0; i < all.size(); i++) {
                put(state, plans.get(i).tensor().name(), all.get(i));
            }
            return new SetContents<>(set.files, state, Map.of(), storages, CroftContents::storage);
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

    /// Closes all shards. Tensors that are views of their memory end, unless their storages were retained.
    @Override
    public void close() {
        files.close();
    }
}
