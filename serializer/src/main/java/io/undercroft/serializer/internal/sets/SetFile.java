package io.undercroft.serializer.internal.sets;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.SetIndex;
import io.undercroft.format.internal.SetManifest;
import io.undercroft.format.internal.Shard;
import io.undercroft.format.internal.SlicePart;
import io.undercroft.format.internal.SlicedTensor;
import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.MatchReport;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.serializer.internal.FileSource;
import io.undercroft.serializer.internal.Workers;
import io.undercroft.serializer.internal.loading.NameLookup;
import io.undercroft.serializer.spi.Companion;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;

/// An open set: its manifest, and its shards, each of which is opened when it is needed. Safe for any thread.
public final class SetFile implements AutoCloseable {
    private final SetPlace place;
    private final SetManifest set;
    private final OpenOptions options;
    private final List<SetMember> members;
    /// The parts of tensors, by the names of these.
    private final Map<String, List<SlicePart>> parts = new ConcurrentHashMap<>();
    private @Nullable SetIndex index;
    private @Nullable NameLookup lookup;

    private SetFile(SetPlace place, SetManifest set, OpenOptions options) {
        this.place = place;
        this.set = set;
        this.options = options;
        this.index = set.index().orElse(null);
        OpenOptions onHost = options.device(Device.CPU);
        MapBudget budget = new MapBudget();
        SetMember.Counts counts = new SetMember.Counts();
        this.members = set.shards().stream().map(shard -> new SetMember(shard, place, onHost, budget, counts))
                .toList();
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
        try {
            SetManifest set = SetManifest.read(new FileSource(manifest), Limits.DEFAULT);
            SetFile opened = new SetFile(SetPlace.of(manifest), set, options);
            opened.checkShards();
            return opened;
        } catch (FormatException e) {
            manifest.close();
            throw e.withFile(manifest.location());
        } catch (Throwable e) {
            manifest.close();
            throw e;
        }
    }

    /// All are checked, so that of several faults always the same one is thrown.
    private void checkShards() throws IOException {
        Map<Integer, FormatException> faults = new ConcurrentSkipListMap<>();
        shared(needed().stream().boxed().toList(), number -> {
            try {
                members.get(number).check();
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

    private BitSet needed() {
        BitSet needed = new BitSet();
        if (!options.isPartial() || set.index().isEmpty()) {
            needed.set(0, members.size());
            return needed;
        }
        set.index().get().tensors().values().stream().filter(tensor -> options.isChosen(tensor.name()))
                .forEach(tensor -> parts(tensor).forEach(part -> needed.set(part.shard())));
        return needed;
    }

    /// Runs an action for several elements, as many at once as is good for where the shards are.
    <T> void shared(List<T> all, Workers.Work<? super T> work) throws IOException {
        Parallel.run(all, place.isStore(), work);
    }

    /// {@return the manifest}
    public SetManifest manifest() {
        return set;
    }

    /// {@return the path or the URI of the manifest, for messages}
    public String location() {
        return place.manifest().location();
    }

    /// Opens a shard as a file, whatever is in it, to be opened with other options.
    ///
    /// @param number the number of the shard
    /// @param budget the budget of its stitched mappings
    /// @return the file, with one holder
    /// @throws FormatException by rule V21 if there is none
    /// @throws IOException if it cannot be opened
    public MappedFile openFile(int number, MapBudget budget) throws IOException {
        return place.open(set.shards().get(number), options, budget);
    }

    /// {@return the paths of the shards that are there; empty in a store}
    ///
    /// @throws IOException if they cannot be looked up
    public List<Path> paths() throws IOException {
        if (place.directory() == null) {
            return List.of();
        }
        List<Path> paths = new ArrayList<>();
        for (Shard shard : set.shards()) {
            try {
                paths.add(SetPlace.locate(shard, place.directory()));
            } catch (FormatException _) {
                // Not needed for the tensors that were chosen.
            }
        }
        return paths;
    }

    /// {@return the tensors of the set} A manifest without them is completed by those of all shards, which are read
    /// then.
    ///
    /// @throws FormatException if the shards do not belong together
    /// @throws IOException if a shard cannot be read
    public synchronized SetIndex index() throws IOException {
        SetIndex there = index;
        if (there == null) {
            there = SetDescription.of(set.shards(), members, this);
            index = there;
        }
        return there;
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
        NameLookup there = lookup;
        if (there == null) {
            Set<String> names = Set.copyOf(names());
            there = new NameLookup(names::contains, test -> names.stream().anyMatch(test));
            lookup = there;
        }
        return there;
    }

    /// {@return the parts of a tensor of the set, checked}
    ///
    /// @param tensor the tensor
    /// @throws FormatException by rule V22 if they are not the whole tensor
    public List<SlicePart> parts(SlicedTensor tensor) {
        List<SlicePart> there = parts.get(tensor.name());
        if (there == null) {
            there = tensor.parts(set.shards());
            parts.put(tensor.name(), there);
        }
        return there;
    }

    /// {@return the device that tensors of the set are read to if the caller names none: where the options load what
    /// was saved from the CPU}
    public Device device() {
        return options.deviceFor(Device.CPU);
    }

    /// Reads boxes of tensors; see [SetRead].
    ///
    /// @param wanted the boxes
    /// @return a tensor for each
    /// @throws FormatException if a shard is missing, damaged, or has another tensor
    /// @throws IOException if reading fails
    public List<Tensor> read(List<Wanted> wanted) throws IOException {
        return new SetRead(this).run(wanted);
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

    /// {@return the shards that the options need}
    List<Companion> companions() {
        return needed().stream().mapToObj(number -> members.get(number).companion()).toList();
    }

    /// {@return the position of a shard among the companions}
    ///
    /// @param number the number of a shard that is one of them
    int companionOf(int number) {
        return needed().get(0, number).cardinality();
    }

    SetMember member(int number) {
        return members.get(number);
    }

    boolean isStore() {
        return place.isStore();
    }

    /// Closes all shards. Tensors that are views of their memory end, unless their storages were retained.
    @Override
    public void close() {
        members.forEach(SetMember::close);
        place.manifest().close();
    }
}
