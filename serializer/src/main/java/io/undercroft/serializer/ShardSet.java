package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.SlicePart;
import io.undercroft.format.internal.SlicedTensor;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.internal.References;
import io.undercroft.serializer.internal.Settings;
import io.undercroft.serializer.internal.Stores;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.Target;
import io.undercroft.serializer.internal.graph.ObjectEncoder;
import io.undercroft.serializer.internal.sets.SetFile;
import io.undercroft.serializer.internal.sets.SetRead.Plan;
import io.undercroft.serializer.internal.sets.SetWriter;
import io.undercroft.serializer.state.Slice;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.RandomAccess;
import java.util.SequencedMap;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/// A set of `.croft` files, its *shards*: the parts of a model that is too large for one file, or one file for each of
/// several writers.
///
/// ```java
/// // each writer:
/// Checkpoint.save(shard(rank), state(rank), SaveOptions.defaults().run("job 7, step 1000", ranks));
/// // one of the writers, when all shards exist:
/// ShardSet.create(Path.of("step-1000.croftset"), shards);
/// // readers:
/// try (ShardSet set = ShardSet.open(Path.of("step-1000.croftset"))) {
///     Tensor rows = set.tensor("weight", new long[] {512, 0}, Shape.of(256, 4096));
/// }
/// ```
///
/// A small file, the *manifest*, names a snapshot of each shard. It is written and replaced in one step: a reader sees
/// either all the snapshots that were saved together or all the previous ones, even if snapshots were appended to the
/// shards since. A set with a missing or different shard does not open.
///
/// **Tensors of the set.** [Slices][Slice] of one tensor in several shards are one tensor of the set. Any other tensor
/// belongs to the set if only one shard has a tensor of that name. If several shards have unrelated tensors of one
/// name, they are read from [#shards].
///
/// A manifest is saved only if the slices of each tensor contain each element exactly once, and agree on the dtype and
/// the shape of the whole tensor.
///
/// **Views and copies.** If the requested elements are one stored part, or contiguous in one, the result is a view of
/// the memory of the shard, which is mapped at the first access, copy-on-write by default. The shard then stays open;
/// at most 128 do, unless files are mapped shared, and elements of further ones are copied. All other results are
/// contiguous copies in separate memory, which stay valid when the set is closed. A copy has no flags, such as
/// `requires_grad`; conjugation and negation are resolved.
///
/// **Sharing.** Views share storages as in their shard. If one call of [#tensors(List)] copies the same bytes for two
/// names, such as those of a tied weight that has both names in all shards, the results are one tensor. Other copies
/// share nothing, even if their slices were views of one storage. The shards that [#shards] returns are opened
/// separately: they share no storage with the tensors of the set, and a write to one is not visible in the other unless
/// files are mapped shared.
///
/// **Lifetime.** Closing the set closes its shards. A shard is opened when one of its tensors is first needed.
///
/// **Threads.** All methods may be called from several threads at once.
public final class ShardSet implements AutoCloseable {
    private final @Nullable Path path;
    private final SetFile set;
    private final Shards shards;

    /// A request for some elements of a tensor.
    ///
    /// @param name the name of the tensor
    /// @param offset the index of the first element in each dimension
    /// @param shape the number of elements in each dimension
    /// @param device the device of the result
    public record Request(String name, List<Long> offset, Shape shape, Device device) {
        /// Checks that nothing is null.
        public Request {
            Objects.requireNonNull(name, "name");
            offset = List.copyOf(offset);
            Objects.requireNonNull(shape, "shape");
            Objects.requireNonNull(device, "device");
        }

        /// A request.
        ///
        /// @param name the name of the tensor
        /// @param offset the index of the first element in each dimension
        /// @param shape the number of elements in each dimension
        /// @param device the device of the result
        public Request(String name, long[] offset, Shape shape, Device device) {
            this(name, Arrays.stream(offset).boxed().toList(), shape, device);
        }
    }

    /// The shards, each of which is opened when it is requested. The order of locks is: the set, then this.
    private static final class Shards extends AbstractList<Checkpoint> implements RandomAccess {
        private final SetFile set;
        private final OpenOptions options;
        private final @Nullable Checkpoint[] opened;
        private boolean isClosed;

        Shards(SetFile set, OpenOptions options) {
            this.set = set;
            this.options = options;
            this.opened = new Checkpoint[set.manifest().shards().size()];
        }

        @Override
        public Checkpoint get(int number) {
            try {
                return open(number);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private synchronized Checkpoint open(int number) throws IOException {
            Checkpoint existing = opened[Objects.checkIndex(number, opened.length)];
            if (existing == null) {
                if (isClosed) {
                    throw new IllegalStateException(set.location() + " is closed; close it later, or open it again");
                }
                existing = Checkpoint.openShard(set.files().file(number), set.manifest().shards().get(number),
                        options);
                opened[number] = existing;
            }
            return existing;
        }

        void openAll() throws IOException {
            for (int number = 0; number < opened.length; number++) {
                var _ = open(number);
            }
        }

        @Override
        public int size() {
            return opened.length;
        }

        synchronized void close() {
            isClosed = true;
            for (Checkpoint each : opened) {
                if (each != null) {
                    each.close();
                }
            }
        }
    }

    private ShardSet(@Nullable Path path, SetFile set, OpenOptions options) {
        this.path = path;
        this.set = set;
        this.shards = new Shards(set, options);
    }

    /// Opens a set copy-on-write.
    ///
    /// @param manifest the path of the manifest
    /// @return the set
    /// @throws FormatException as [#open(Path, OpenOptions)]
    /// @throws IOException if the manifest is missing, or a file cannot be read
    public static ShardSet open(Path manifest) throws IOException {
        return open(manifest, OpenOptions.defaults());
    }

    /// Opens a set. Checks of each shard that it exists, has the recorded id and has the snapshot. If [some tensors
    /// only][OpenOptions#only(String...)] are loaded, and the manifest has the places of their parts, only the shards
    /// with these parts are checked. The rest of a shard is read and checked when it is needed. A shard that is not
    /// below the directory of the manifest, after symbolic links are resolved, is not opened.
    ///
    /// @param manifest the path of the manifest
    /// @param options the options for opening the shards
    /// @return the set
    /// @throws FormatException with the code `V21-SHARD` if a shard is missing, is another file, or does not have the
    ///     recorded snapshot; with any other if the manifest or a shard is damaged, hostile or unsupported
    /// @throws IOException if the manifest is missing, or a file cannot be read
    /// @throws IllegalArgumentException if the options name a snapshot: the manifest does
    /// @throws java.util.NoSuchElementException if the options have a pattern that no name of a tensor in any shard
    ///     matches
    public static ShardSet open(Path manifest, OpenOptions options) throws IOException {
        Objects.requireNonNull(manifest, "manifest");
        checkOptions(options);
        return open(manifest, MappedFile.open(manifest, MapMode.READ_ONLY), options);
    }

    /// Opens a set in a store, such as one on a web server, copy-on-write; see [#open(URI, OpenOptions)].
    ///
    /// @param manifest the URI of the manifest
    /// @return the set
    /// @throws FormatException as [#open(Path, OpenOptions)]
    /// @throws IOException if the manifest is missing, or a file cannot be read
    public static ShardSet open(URI manifest) throws IOException {
        return open(manifest, OpenOptions.defaults());
    }

    /// Opens a set in a store, such as one on a web server. Its shards are next to the manifest, or in directories
    /// there. The schemes are those of [Checkpoint#open(URI, OpenOptions)]. Only the ranges of
    /// a shard that contain requested elements are fetched.
    ///
    /// @param manifest the URI of the manifest
    /// @param options the options for opening the shards
    /// @return the set
    /// @throws FormatException as [#open(Path, OpenOptions)]
    /// @throws io.undercroft.mmap.RemoteFileException if nothing opens such a URI, the manifest is not there, or the
    ///     store refuses or does not respond
    /// @throws IOException if a file cannot be read
    /// @throws IllegalArgumentException if the URI has no scheme or is invalid, or for options as
    ///     [#open(Path, OpenOptions)], or if they map it shared
    public static ShardSet open(URI manifest, OpenOptions options) throws IOException {
        Checkpoint.requireScheme(Objects.requireNonNull(manifest, "manifest"));
        if (manifest.getScheme().equalsIgnoreCase("file")) {
            return open(Path.of(manifest), options);
        }
        checkOptions(options);
        return open(null, Stores.open(manifest, options), options);
    }

    private static void checkOptions(OpenOptions options) {
        if (options.snapshot().isPresent()) {
            throw new IllegalArgumentException(
                    "the set determines the snapshots; open its files one by one for others");
        }
        Settings.check(options);
    }

    private static ShardSet open(@Nullable Path path, MappedFile manifest, OpenOptions options) throws IOException {
        ShardSet opened = new ShardSet(path, SetFile.open(manifest, options), options);
        try {
            opened.prepare(options);
            References.openSet(manifest, opened.set.files().paths(), options);
            return opened;
        } catch (Throwable e) {
            opened.close();
            throw e;
        }
    }

    private void prepare(OpenOptions options) throws IOException {
        if (options.isInMemory() || options.expected().isPresent()
                || options.checksums() == ChecksumPolicy.EAGER) {
            shards.openAll();
        }
        if (!options.patterns().isEmpty() && !areMatched(options)) {
            shards.openAll();
            Checkpoint.checkPatterns(location(), shards);
        }
    }

    /// {@return whether each pattern matches a tensor of the set that the manifest names}
    private boolean areMatched(OpenOptions options) {
        return set.manifest().index().filter(index -> options.patterns().stream()
                .allMatch(pattern -> index.names().stream().anyMatch(pattern))).isPresent();
    }

    /// Saves a manifest, durably and atomically, that names the newest snapshot of each file. The files should be
    /// durable, as they are when [Checkpoint#save] and [CroftFile#commit] return. A manifest of that name is replaced:
    /// if there are several writers, the manifest of the last one stays. If they may write at the same time, use
    /// [#create].
    ///
    /// @param manifest the path of the manifest to create or replace
    /// @param files the shards, in their order; in the directory of the manifest or below it
    /// @throws LockedException if another writer is saving the manifest
    /// @throws IOException if a file cannot be read, or writing fails; no manifest is made or changed
    /// @throws FormatException if a file is no `.croft` file, or damaged; with the code `V21-SHARD` if they are not all
    ///     shards of one [run][SaveOptions#run], with the code `V22-SLICE` if slices of a tensor overlap, contradict
    ///     each other, or are not the whole tensor. No manifest is made or changed
    /// @throws ReferencedFileException if the manifest would replace a file in which bytes of others are stored
    /// @throws IllegalArgumentException if a file is not below the directory of the manifest, is there twice, or is the
    ///     manifest itself, or there is no file
    public static void save(Path manifest, List<Path> files) throws IOException {
        new SetWriter(Disk.system()).save(Objects.requireNonNull(manifest, "manifest"), files);
    }

    /// Saves a manifest as [#save], if there is none of that name. If several writers call this method at the same
    /// time, exactly one succeeds, on file systems whose locks all of them see.
    ///
    /// @param manifest the path of the manifest to create
    /// @param files the shards, in their order; in the directory of the manifest or below it
    /// @throws FileAlreadyExistsException if there is a file of that name
    /// @throws LockedException if another writer is saving it
    /// @throws IOException if a file cannot be read, or writing fails; no manifest is made
    /// @throws FormatException as [#save]
    /// @throws IllegalArgumentException as [#save]
    public static void create(Path manifest, List<Path> files) throws IOException {
        new SetWriter(Disk.system()).create(Objects.requireNonNull(manifest, "manifest"), files);
    }

    /// Saves a manifest in a store, with the default options; see
    /// [#create(URI, List, OpenOptions, SaveOptions)].
    ///
    /// @param manifest the URI of the manifest to create
    /// @param files the shards, in their order
    /// @throws IOException if a file cannot be read, or writing fails; no manifest is made
    public static void create(URI manifest, List<URI> files) throws IOException {
        create(manifest, files, OpenOptions.defaults(), SaveOptions.defaults());
    }

    /// Saves a manifest in a store, if there is none of that name. If several writers call this method at the same
    /// time, one succeeds, as far as the store can detect the others. The schemes are those of [Checkpoint#save(URI,
    /// Object, SaveOptions)].
    ///
    /// @param manifest the URI of the manifest to create
    /// @param files the shards, in their order; in the directory of the manifest or below it
    /// @param opening the settings of the store for opening the shards; files of this host need none
    /// @param saving the settings of the store for writing the manifest; files of this host need none
    /// @throws io.undercroft.mmap.RemoteFileException if there is a manifest of that name, or another writer was faster
    ///     (`CONFLICT`), nothing writes such URIs, or the store refuses or does not respond
    /// @throws FormatException as [#save]
    /// @throws IOException if a file cannot be read, or writing fails; no manifest is made
    /// @throws IllegalArgumentException if a file is not below the directory of the manifest, or is there twice
    public static void create(URI manifest, List<URI> files, OpenOptions opening, SaveOptions saving)
            throws IOException {
        Checkpoint.requireScheme(Objects.requireNonNull(manifest, "manifest"));
        if (manifest.getScheme().equalsIgnoreCase("file")) {
            create(Path.of(manifest), files.stream().map(Path::of).toList());
            return;
        }
        Settings.check(opening);
        URI directory = manifest.resolve(".");
        List<String> paths = files.stream().map(file -> path(directory, file)).toList();
        SetWriter.create(Target.of(Stores.target(manifest, saving), Stores.settingsForWriting(manifest)), paths,
                number -> Stores.open(files.get(number), opening));
    }

    private static String path(URI directory, URI file) {
        URI relative = directory.relativize(file.normalize());
        if (relative.isAbsolute() || relative.getPath() == null || relative.getPath().isEmpty()) {
            throw new IllegalArgumentException("a shard is not below the directory of the manifest, "
                    + FormatException.quote(String.valueOf(directory.getPath())) + ": "
                    + FormatException.quote(String.valueOf(file.getPath())));
        }
        return relative.getPath();
    }

    /// {@return the manifest}
    ///
    /// @throws UnsupportedOperationException if it is in a store, and has no path
    public Path path() {
        if (path == null) {
            throw new UnsupportedOperationException(location() + " is in a store, and has no path");
        }
        return path;
    }

    /// {@return the path of the manifest, or its URI without credentials if it is in a store, for messages}
    public String location() {
        return path == null ? set.location() : path.toString();
    }

    /// {@return the id of the set: two sets of the same shards in the same places have the same one}
    public UUID uuid() {
        return set.manifest().uuid();
    }

    /// {@return the [run][SaveOptions#run] that all shards are of, if they are of one}
    ///
    /// @throws UncheckedIOException if the manifest does not say it, and a shard cannot be read
    public Optional<String> run() {
        return read(() -> Optional.ofNullable(set.index().run()));
    }

    /// {@return the shards in their order, each at the snapshot that the manifest names} Several shards may have
    /// tensors of the same name. `get` of the list opens a shard, and throws the exceptions of [Checkpoint#open(Path,
    /// OpenOptions)]: an [IOException] as [UncheckedIOException].
    public List<Checkpoint> shards() {
        return shards;
    }

    // ---- tensors of the set ----

    /// {@return the names of the tensors of the set that the options choose, sorted}
    ///
    /// @throws UncheckedIOException if the manifest does not say it, and a shard cannot be read
    public List<String> names() {
        return read(set::names);
    }

    /// {@return the dtype and the shape of a tensor of the set} No shard is read.
    ///
    /// @param name its name
    /// @throws java.util.NoSuchElementException if there is none
    public TensorSpec spec(String name) {
        return read(() -> SetFile.spec(set.tensor(name)));
    }

    /// {@return the parts of a tensor of the set by the numbers of the shards that have them; their local tensors are
    /// on the meta device} No shard is read.
    ///
    /// @param name its name
    /// @throws java.util.NoSuchElementException if there is none
    /// @throws FormatException with the code `V22-SLICE` if the parts are not the whole tensor
    public SequencedMap<Integer, Slice> parts(String name) {
        return read(() -> {
            SlicedTensor tensor = set.tensor(name);
            TensorSpec spec = SetFile.spec(tensor);
            SequencedMap<Integer, Slice> parts = new TreeMap<>();
            for (SlicePart part : set.parts(tensor)) {
                parts.put(part.shard(), Slice.of(Tensor.meta(spec.dtype(), part.size()), spec.shape(), part.offset()));
            }
            return Collections.unmodifiableSequencedMap(parts);
        });
    }

    /// {@return a whole tensor, on the device to which the options load what was saved from the CPU}
    ///
    /// @param name its name
    /// @throws java.util.NoSuchElementException if there is none
    /// @throws FormatException if a shard is missing or damaged, or has another tensor
    /// @throws UncheckedIOException if reading fails
    public Tensor tensor(String name) {
        return read(() -> set.read(List.of(set.plan(name))).getFirst());
    }

    /// {@return some elements of a tensor, on the device to which the options load what was saved from the CPU}
    ///
    /// @param name its name
    /// @param offset the index of the first element in each dimension
    /// @param shape the number of elements in each dimension
    /// @throws IndexOutOfBoundsException if the tensor does not have these elements
    /// @throws java.util.NoSuchElementException as [#tensor(String)], which throws the same exceptions
    public Tensor tensor(String name, long[] offset, Shape shape) {
        Objects.requireNonNull(shape, "shape");
        return read(() -> set.read(List.of(set.plan(name, offset, shape.toArray(), set.device()))).getFirst());
    }

    /// Reads elements of many tensors at once: shard after shard, several at the same time, each byte once.
    ///
    /// @param requests the elements to read, and the devices of the results
    /// @return a tensor for each request, in their order
    /// @throws IndexOutOfBoundsException if a tensor does not have these elements
    /// @throws java.util.NoSuchElementException if there is no such tensor
    /// @throws FormatException if a shard is missing or damaged, or has another tensor, or there is no such device; no
    ///     memory is kept then
    /// @throws UncheckedIOException if reading fails; no memory is kept then
    public List<Tensor> tensors(List<Request> requests) {
        return read(() -> {
            List<Plan> plans = new ArrayList<>();
            for (Request request : requests) {
                plans.add(set.plan(request.name, request.offset.stream().mapToLong(Long::longValue).toArray(),
                        request.shape.toArray(), request.device));
            }
            return Collections.unmodifiableList(set.read(plans));
        });
    }

    // ---- loading ----

    /// Copies tensors of the set into those of a state, in place. A [Slice] receives its part of the whole tensor, any
    /// other tensor the whole one. So a process needs no memory besides that of its slices, whatever the layout of the
    /// writers was. Other values of the state are ignored.
    ///
    /// ```java
    /// set.loadInto(Map.of("weight", Slice.of(rows, Shape.of(1024, 4096), 512, 0), "bias", bias));
    /// ```
    ///
    /// The set needs to have all tensors of the state, by the same names or keys, and with the shapes of the whole
    /// tensors; elements of another dtype are converted, as [Tensor#copyFrom] does. Further tensors of the set are
    /// listed in the report only, as a process of a distributed run rarely has all of them.
    ///
    /// Before the first element changes, names, shapes, the shards and their descriptions are checked, and whether the
    /// tensors can be written to. Then elements are copied shard after shard, several at the same time, each byte once;
    /// if the [policy][ChecksumPolicy] requires it, they are compared with checksums as they are read.
    /// [ChecksumPolicy#EAGER] compares them when the set is opened. Tensors of the state that overlap in memory are
    /// assembled in other memory first, unless they are one tensor under several names.
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it, and objects of the classes that this was
    ///     opened with
    /// @return a report without missing and mismatched tensors
    /// @throws StateMismatchException if the set does not have a tensor, or one of another shape, or tensors of the
    ///     state share bytes for which the set has different ones; nothing was changed then
    /// @throws UnsupportedOperationException if a tensor of the state is read-only or on the meta device; nothing was
    ///     changed then
    /// @throws IllegalArgumentException if two indices of a tensor of the state are the same element, one tensor is two
    ///     slices, a tensor is a view of another part of this set, or an object is of a class that this was not opened
    ///     with; nothing was changed then
    /// @throws IllegalStateException if a storage of the state was freed, or this is closed; nothing was changed then
    /// @throws FormatException if a shard is missing or damaged, or has another tensor; nothing was changed then
    /// @throws UncheckedIOException if reading fails; nothing was changed then
    /// @throws PartlyLoadedException if a shard is found to be damaged, or reading fails, during the copy
    public MatchReport loadInto(@Nullable Object state) {
        return loadInto(state, true);
    }

    /// Copies the tensors that both the set and a state have, and leaves the others as they are. Otherwise as
    /// [#loadInto].
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it, and objects of the classes that this was
    ///     opened with
    /// @return a report of the differences
    /// @throws StateMismatchException if shapes differ; nothing was changed then
    /// @throws PartlyLoadedException as [#loadInto], which throws the same exceptions
    public MatchReport loadMatching(@Nullable Object state) {
        return loadInto(state, false);
    }

    private MatchReport loadInto(@Nullable Object state, boolean isStrict) {
        return read(() -> set.load(ObjectEncoder.of(state, shards.options.classes(), "load into"),
                isStrict));
    }

    /// A method that reads.
    @FunctionalInterface
    private interface Reading<T> {
        T run() throws IOException;
    }

    private <T> T read(Reading<T> reading) {
        try {
            return reading.run();
        } catch (FormatException e) {
            throw e.withFile(location());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Closes all shards.
    @Override
    public void close() {
        shards.close();
        set.close();
    }

    /// {@return the manifest, and how many files it names}
    @Override
    public String toString() {
        return location() + " (" + shards.size() + " shards)";
    }
}
