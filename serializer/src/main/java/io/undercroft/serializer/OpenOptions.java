package io.undercroft.serializer;

import io.undercroft.mmap.MapMode;
import io.undercroft.serializer.internal.loading.Glob;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.OpenRequest;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.CheckReturnValue;
import io.undercroft.storage.Device;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Options for opening a checkpoint. Immutable: each method returns a changed copy. Implementers of formats read them
/// with [#request()].
///
/// A method that is called a second time replaces what it set before; only the methods named `base`, [#setting] and
/// [#settings] add to it. [#devices], [#device] and [#onMeta] set the same option.
@CheckReturnValue
public final class OpenOptions {
    private static final OpenOptions DEFAULTS = new OpenOptions(new Values());

    private final Values values;
    private final OpenRequest request;

    /// The chosen values. Not changed once they are in an instance of the options.
    private static final class Values implements Cloneable {
        MapMode mapping = MapMode.PRIVATE;
        UnaryOperator<Device> devices = UnaryOperator.identity();
        OptionalLong snapshot = OptionalLong.empty();
        @Nullable
        Path root;
        Map<UUID, Path> basesById = Map.of();
        List<Path> bases = List.of();
        ChecksumPolicy checksums = ChecksumPolicy.WHEN_READ_WHOLE;
        boolean isInMemory;
        @Nullable
        Allocator memory;
        LoadProgress progress = (_, _) -> {};
        @Nullable
        Predicate<String> chosen;
        /// What was given for `chosen`; each has to match some name.
        List<Glob> patterns = List.of();
        @Nullable
        Map<String, TensorSpec> expected;
        StateClasses classes = StateClasses.of();
        @Nullable
        String format;
        Map<String, String> settings = Map.of();
        @Nullable
        Path temporaryDirectory;

        Values copy() {
            try {
                return (Values) clone();
            } catch (CloneNotSupportedException impossible) {
                throw new AssertionError(impossible);
            }
        }

        OpenRequest request() {
            return new OpenRequest(mapping, devices, snapshot, Optional.ofNullable(root), basesById, bases,
                    checksums, isInMemory, Optional.ofNullable(memory), progress, Optional.ofNullable(chosen),
                    Optional.ofNullable(expected), classes, Optional.ofNullable(format), settings,
                    Optional.ofNullable(temporaryDirectory));
        }
    }

    private OpenOptions(Values values) {
        this.values = values;
        this.request = values.request();
    }

    private OpenOptions with(Consumer<Values> change) {
        Values copy = values.copy();
        change.accept(copy);
        return new OpenOptions(copy);
    }

    /// {@return copy-on-write mapping, devices as saved, the newest snapshot, no root, checksums compared by methods
    /// that read many bytes}
    public static OpenOptions defaults() {
        return DEFAULTS;
    }

    /// Chooses how storages are mapped.
    ///
    /// Writing through a shared mapping changes the file under its own checksums: [Checkpoint#verify] then reports the
    /// writes as damage. Use it for copies in shared memory that are not archived. A `.croft` storage that is partly
    /// zeros, is partly in another file, or shares bytes with another storage, cannot be mapped shared;
    /// [SaveOptions#writableInPlace] makes files without such storages.
    ///
    /// @param mode copy-on-write (the file never changes), read-only, or shared (writes reach the file)
    /// @return the changed options
    public OpenOptions mapping(MapMode mode) {
        Objects.requireNonNull(mode, "mode");
        return with(copy -> copy.mapping = mode);
    }

    /// Maps the file read-only, as [#mapping(MapMode)] with [MapMode#READ_ONLY]: writing to a tensor throws.
    ///
    /// @return the changed options
    public OpenOptions readOnly() {
        return mapping(MapMode.READ_ONLY);
    }

    /// Chooses where storages go, as `map_location` does in PyTorch: all on the CPU with `devices(_ -> Device.CPU)`,
    /// those of one device with `devices(Map.of(Device.cuda(1), Device.cuda(0)))`. The choice is made for each storage,
    /// so tensors on one storage stay together. Storages that were saved from the meta device have no bytes in the
    /// file, and stay there.
    ///
    /// If a device does not exist, the first use of a storage on it throws, or opening the file.
    ///
    /// @param mapper called with the device that a storage was saved from, for instance `cuda:0`; returns the device to
    ///     load it to
    /// @return the changed options
    public OpenOptions devices(UnaryOperator<Device> mapper) {
        Objects.requireNonNull(mapper, "mapper");
        return with(copy -> copy.devices = mapper);
    }

    /// Chooses the devices for the storages of some devices; the others are loaded to the device they were saved from.
    ///
    /// @param places the new device for each that is moved
    /// @return the changed options
    public OpenOptions devices(Map<Device, Device> places) {
        Objects.requireNonNull(places, "places");
        Map<Device, Device> copy = Map.copyOf(places);
        return devices(saved -> copy.getOrDefault(saved, saved));
    }

    /// Loads everything to one device, wherever it was saved from. A storage is read from the file straight into the
    /// buffers that the device copies from, at the first call that needs its bytes there; with [#inMemory()] all are
    /// read when the checkpoint is opened. Bytes on a device are a copy: writes do not reach the file, and are possible
    /// if the file is opened copy-on-write.
    ///
    /// @param device the device
    /// @return the changed options
    public OpenOptions device(Device device) {
        Objects.requireNonNull(device, "device");
        return devices(_ -> device);
    }

    /// Opens everything on the meta device (`map_location="meta"` in PyTorch): storages have their sizes and tensors
    /// their geometry, sharing is kept, and elements are never read or mapped. Reading them throws
    /// [IllegalStateException].
    ///
    /// @return the changed options
    public OpenOptions onMeta() {
        return device(Device.META);
    }

    /// Opens an earlier snapshot instead of the newest one. If it is damaged, opening fails; no other snapshot is
    /// tried.
    ///
    /// @param commit its number, see [SnapshotInfo#commit] and [Checkpoint#snapshots]
    /// @return the changed options
    /// @throws IllegalArgumentException if no snapshot can have that number
    public OpenOptions snapshot(long commit) {
        if (commit < 1) {
            throw new IllegalArgumentException("snapshots are numbered from 1; there is no " + commit);
        }
        return with(copy -> copy.snapshot = OptionalLong.of(commit));
    }

    /// Opens the newest snapshot, as is the default.
    ///
    /// @return the changed options
    public OpenOptions newest() {
        return with(copy -> copy.snapshot = OptionalLong.empty());
    }

    /// Sets the directory below which other files may be opened that hold bytes of this one: adopted files and `.croft`
    /// files that were named as bases. A path that leaves it, by symbolic links, is refused. Without a root no adopted
    /// file is opened, as an untrusted file must not choose what a program opens; `.croft` bases are then searched
    /// below the directory of the file, since their ids must match anyway.
    ///
    /// @param directory the directory; used when a byte of another file is first needed
    /// @return the changed options
    public OpenOptions root(Path directory) {
        Objects.requireNonNull(directory, "directory");
        return with(copy -> copy.root = directory);
    }

    /// Sets the path of a `.croft` base, in place of the one recorded in the file. Its id is checked.
    ///
    /// @param uuid the id of the base
    /// @param file where it is
    /// @return the changed options
    public OpenOptions base(UUID uuid, Path file) {
        Map<UUID, Path> more = new HashMap<>(values.basesById);
        more.put(Objects.requireNonNull(uuid, "uuid"), Objects.requireNonNull(file, "file"));
        return with(copy -> copy.basesById = Map.copyOf(more));
    }

    /// Names a file that may hold bytes of this one, such as a base or an adopted file that was renamed or moved. It is
    /// used for each base that it matches: a `.croft` file is recognised by its id and snapshot, an adopted one by its
    /// size and by a digest of all its bytes, for which it is read once if its name is not the one recorded. A file
    /// that is no base has no effect. Files that are named are tried before those below the root.
    ///
    /// @param file the file; used when a byte of another file is first needed
    /// @return the changed options
    public OpenOptions base(Path file) {
        Objects.requireNonNull(file, "file");
        return with(copy -> copy.bases = Stream.concat(copy.bases.stream(), Stream.of(file)).toList());
    }

    /// Chooses when bytes of storages are compared with their checksums. By default methods that read many bytes of a
    /// storage compare them, as [ChecksumPolicy#WHEN_READ_WHOLE] describes; single elements are read without a check,
    /// unless they are in adopted files. [ChecksumPolicy#ON_TOUCH] checks each storage before its first element is
    /// read.
    ///
    /// @param policy when
    /// @return the changed options
    public OpenOptions checksums(ChecksumPolicy policy) {
        Objects.requireNonNull(policy, "policy");
        return with(copy -> copy.checksums = policy);
    }

    /// Reads the bytes of all storages when the checkpoint is opened, with several threads, into memory of this process
    /// (huge pages where the system has them). Nothing is mapped then: later changes of the file have no effect. By
    /// default storages are mapped, and read when they are touched. The memory is freed with the checkpoint as mappings
    /// are: retain a storage, or copy a tensor, to use it longer.
    ///
    /// The bytes are compared with their checksums, unless the [policy][#checksums] is [ChecksumPolicy#NONE]. A
    /// damaged storage of a `.croft` file does not keep others from being loaded: [Checkpoint#damages] lists it, and it
    /// throws when it is touched. A damaged record of a zip archive is refused when the file is opened.
    ///
    /// Storages of up to about 32 MiB share blocks of memory, and a block is freed when the last storage in it is
    /// released. Storages [on a device][#device] are loaded with one upload for each device, and use memory of the host
    /// only for buffers.
    ///
    /// On Linux, a `.croft` file of more than a quarter of the available memory, and at least 256 MiB, is read past the
    /// page cache unless it is there already, so that it does not take memory twice. Loading it again reads it from the
    /// disk again.
    ///
    /// @return the changed options
    public OpenOptions inMemory() {
        return with(copy -> {
            copy.isInMemory = true;
            copy.memory = null;
        });
    }

    /// Reads the bytes of all storages when the checkpoint is opened, as [#inMemory()], into memory of a given
    /// allocator.
    ///
    /// @param memory called once for each storage, by several threads; an allocator of the CPU
    /// @return the changed options
    /// @throws IllegalArgumentException if it is the memory of another device
    public OpenOptions inMemory(Allocator memory) {
        if (!memory.device().isCpu()) {
            throw new IllegalArgumentException("bytes are read into memory of the CPU; storages are moved to "
                    + memory.device() + " with OpenOptions.devices, or with StorageCopier when they are open");
        }
        return with(copy -> {
            copy.isInMemory = true;
            copy.memory = memory;
        });
    }

    /// Sets a listener that is called as bytes are read: when a checkpoint is opened [in memory][#inMemory], verified
    /// ([Checkpoint#verify]) or salvaged ([CheckpointFile#salvage]).
    ///
    /// @param listener called with the number of bytes read so far
    /// @return the changed options
    public OpenOptions progress(LoadProgress listener) {
        Objects.requireNonNull(listener, "listener");
        return with(copy -> copy.progress = listener);
    }

    /// Loads some tensors only, those whose names match a pattern. [Checkpoint#names] and the like omit the others. In
    /// [Checkpoint#state] they are meta tensors, unless they share a storage with a chosen one: the tree keeps its
    /// shape, and a storage that no chosen tensor uses is neither read nor mapped. Chosen tensors share storages as
    /// usual.
    ///
    /// In a pattern `*` matches any characters but `/`, `?` one such character, `**` between slashes any number of
    /// segments including none, and `\` and a character that character. So `model/*.weight` matches `model/fc.weight`
    /// and not `model/head/fc.weight`, which `**/*.weight` matches. Slashes in keys count as slashes between keys. A
    /// pattern that no name matches is an error when a file is opened. [Aliases][Checkpoint#aliases] match as names do:
    /// `fc1.*` chooses the parameters of that layer of a module of PyTorch.
    ///
    /// @param patterns one of which a name must match as a whole; without any, no tensor is loaded
    /// @return the changed options
    public OpenOptions only(String... patterns) {
        Objects.requireNonNull(patterns, "patterns");
        List<Glob> globs = Stream.of(patterns).map(Glob::parse).toList();
        return with(copy -> {
            copy.chosen = name -> globs.stream().anyMatch(glob -> glob.test(name));
            copy.patterns = globs;
        });
    }

    /// Loads some tensors only, as [#only(String...)].
    ///
    /// @param names called with the names of tensors as in [Checkpoint#names], by several threads; has to return the
    ///     same result each time
    /// @return the changed options
    public OpenOptions only(Predicate<String> names) {
        Objects.requireNonNull(names, "names");
        return with(copy -> {
            copy.chosen = names;
            copy.patterns = List.of();
        });
    }

    /// Refuses a file whose tensors are not those expected, by name, dtype and shape: none missing, none in addition.
    /// Tensors that [were not chosen][#only(String...)] do not count. [Checkpoint#compare] reports differences without
    /// an exception.
    ///
    /// @param expected what the tensors should be, by their names; see [TensorSpec#ofState]
    /// @return the changed options
    public OpenOptions strict(Map<String, TensorSpec> expected) {
        Objects.requireNonNull(expected, "expected");
        Map<String, TensorSpec> ordered = Collections.unmodifiableMap(new LinkedHashMap<>(expected));
        return with(copy -> copy.expected = ordered);
    }

    /// Sets the classes of the program whose objects may be in the state, as for saving it. By default none.
    ///
    /// @param known records, enums and other classes
    /// @return the changed options
    public OpenOptions classes(StateClasses known) {
        Objects.requireNonNull(known, "known");
        return with(copy -> copy.classes = known);
    }

    /// Sets the format of the file, if its contents do not identify it. By default the first format that recognises the
    /// file is used.
    ///
    /// @param name the name of a format, for instance `torch7`; see [Checkpoint#format]
    /// @return the changed options
    public OpenOptions format(String name) {
        Objects.requireNonNull(name, "name");
        return with(copy -> copy.format = name);
    }

    /// Sets an option of a format, for what its files do not record, or of a store. Settings of other formats and
    /// stores have no effect; a name that is no [setting][CheckpointFormat#settings] of any known format for opening,
    /// nor of a [store][io.undercroft.serializer.spi.StoreProvider#settings], is refused when a file is opened.
    ///
    /// @param name the name of the format, a dot, and a name, for instance `torch7.longs`
    /// @param value what the format documents, for instance `4`
    /// @return the changed options
    public OpenOptions setting(String name, String value) {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(value, "value");
        return settings(Map.of(name, value));
    }

    /// Sets several options of formats, as [#setting(String, String)].
    ///
    /// @param settings values by name
    /// @return the changed options
    public OpenOptions settings(Map<String, String> settings) {
        Objects.requireNonNull(settings, "settings");
        Map<String, String> more = new HashMap<>(values.settings);
        more.putAll(settings);
        return with(copy -> copy.settings = Map.copyOf(more));
    }

    /// Sets the directory to which bytes of files in stores are fetched. A file there takes as much space as was read
    /// of the file in the store, at most its size, and is removed when the checkpoint is closed. By default it is the
    /// directory of the system for temporary files, `java.io.tmpdir`.
    ///
    /// @param directory the directory, on a file system that supports sparse files
    /// @return the changed options
    public OpenOptions temporaryDirectory(Path directory) {
        Objects.requireNonNull(directory, "directory");
        return with(copy -> copy.temporaryDirectory = directory);
    }

    /// {@return the values that were chosen, for implementers of formats}
    public OpenRequest request() {
        return request;
    }

    /// {@return the options with further chosen tensors}
    ///
    /// @param names their names
    OpenOptions onlyAlso(Set<String> names) {
        Predicate<String> before = request::isChosen;
        return with(copy -> copy.chosen = before.or(names::contains));
    }

    /// {@return the patterns of which each has to match some name}
    List<Glob> patterns() {
        return values.patterns;
    }
}
