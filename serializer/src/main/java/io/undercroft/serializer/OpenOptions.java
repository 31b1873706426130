package io.undercroft.serializer;

import io.undercroft.mmap.MapMode;
import io.undercroft.serializer.OptionMap.Option;
import io.undercroft.serializer.internal.loading.Glob;
import io.undercroft.serializer.spi.CheckpointFormat;
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
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Options for opening a checkpoint. Immutable: a method with an option as its parameter returns a changed copy. The
/// other methods return the options, for implementers of formats and stores.
///
/// A second call of a method replaces the value of the first; only the methods named `base`, [#setting] and [#settings]
/// add values. [#devices], [#device] and [#onMeta] set the same option.
@CheckReturnValue
public final class OpenOptions {
    private static final Option<MapMode> MAPPING = new Option<>("mapping", MapMode.PRIVATE);
    private static final Option<UnaryOperator<Device>> DEVICES = new Option<>("devices");
    private static final Option<OptionalLong> SNAPSHOT = new Option<>("snapshot", OptionalLong.empty());
    private static final Option<Path> ROOT = new Option<>("root");
    private static final Option<Map<UUID, Path>> BASES_BY_ID = new Option<>("base", Map.of());
    private static final Option<List<Path>> BASES = new Option<>("base", List.of());
    private static final Option<ChecksumPolicy> CHECKSUMS = new Option<>("checksums", ChecksumPolicy.WHEN_READ_WHOLE);
    /// The memory that storages are read into when the file is opened; empty for that of this library.
    private static final Option<Optional<Allocator>> IN_MEMORY = new Option<>("inMemory");
    private static final Option<ProgressListener> PROGRESS = new Option<>("progress");
    private static final Option<Predicate<String>> ONLY = new Option<>("only");
    /// What was given for [#ONLY]; each has to match some name.
    private static final Option<List<Glob>> PATTERNS = new Option<>("only", List.of());
    private static final Option<Map<String, TensorSpec>> STRICT = new Option<>("strict");
    private static final Option<StateClasses> CLASSES = new Option<>("classes", StateClasses.of());
    private static final Option<String> FORMAT = new Option<>("format");
    private static final Option<Map<String, String>> SETTINGS = new Option<>("settings", Map.of());
    private static final Option<Path> TEMPORARY_DIRECTORY = new Option<>("temporaryDirectory");

    private static final OpenOptions DEFAULTS = new OpenOptions(OptionMap.EMPTY);

    private final OptionMap values;

    private OpenOptions(OptionMap values) {
        this.values = values;
    }

    private <T> OpenOptions with(Option<T> option, T value) {
        return new OpenOptions(values.with(option, value));
    }

    /// {@return the default options: copy-on-write mapping, the saved devices, the newest snapshot, no root, and
    /// checksums that methods compare which read many bytes}
    public static OpenOptions defaults() {
        return DEFAULTS;
    }

    /// Chooses how storages are mapped.
    ///
    /// Writes through a shared mapping change the file but not its checksums, so that [Checkpoint#verify] reports them
    /// as damage. Use it for temporary copies in shared memory. A `.croft` storage that is partly zeros, is partly in
    /// another file, or shares bytes with another storage, cannot be mapped shared; [SaveOptions#writableInPlace] makes
    /// files without such storages.
    ///
    /// @param mapping copy-on-write (the file never changes), read-only, or shared (writes reach the file)
    /// @return the changed options
    public OpenOptions mapping(MapMode mapping) {
        return with(MAPPING, mapping);
    }

    /// Maps the file read-only, as [#mapping(MapMode)] with [MapMode#READ_ONLY]: writes to tensors throw.
    ///
    /// @return the changed options
    public OpenOptions readOnly() {
        return mapping(MapMode.READ_ONLY);
    }

    /// Chooses the devices of storages, as `map_location` in PyTorch: `devices(_ -> Device.CPU)` loads all to the CPU,
    /// `devices(Map.of(Device.cuda(1), Device.cuda(0)))` those of one device to another. The function is called for
    /// each storage, so tensors on one storage stay together. Storages that were saved from the meta device have no
    /// bytes in the file, and stay on it.
    ///
    /// If a device does not exist, the open or the first use of a storage on it throws.
    ///
    /// @param devices called with the device that a storage was saved from, for instance `cuda:0`; returns the device
    ///     to load it to
    /// @return the changed options
    public OpenOptions devices(UnaryOperator<Device> devices) {
        return with(DEVICES, devices);
    }

    /// Chooses the devices for the storages of some devices; the others are loaded to the device they were saved from.
    ///
    /// @param places the new devices by the saved devices
    /// @return the changed options
    public OpenOptions devices(Map<Device, Device> places) {
        Objects.requireNonNull(places, "places");
        Map<Device, Device> copy = Map.copyOf(places);
        return devices(saved -> copy.getOrDefault(saved, saved));
    }

    /// Loads all storages to one device. A storage is read from the file directly into the buffers that the device
    /// copies from, by the first call that needs its bytes; with [#inMemory()], all storages are loaded when the
    /// checkpoint is opened. Bytes on a device are a copy: writes do not reach the file, and are possible if the file
    /// is opened copy-on-write.
    ///
    /// @param device the device
    /// @return the changed options
    public OpenOptions device(Device device) {
        Objects.requireNonNull(device, "device");
        return devices(_ -> device);
    }

    /// Opens all storages on the meta device (`map_location="meta"` in PyTorch): storages have their sizes and tensors
    /// their geometry, sharing is kept, and bytes are neither read nor mapped. Access to elements throws an
    /// [IllegalStateException].
    ///
    /// @return the changed options
    public OpenOptions onMeta() {
        return device(Device.META);
    }

    /// Opens an earlier snapshot instead of the newest. If it is damaged, the open fails.
    ///
    /// @param commit the number of its commit; see [SnapshotInfo#commit] and [Checkpoint#snapshots]
    /// @return the changed options
    /// @throws IllegalArgumentException if no snapshot can have that number
    public OpenOptions snapshot(long commit) {
        if (commit < 1) {
            throw new IllegalArgumentException("snapshots are numbered from 1; there is no " + commit);
        }
        return with(SNAPSHOT, OptionalLong.of(commit));
    }

    /// Opens the newest snapshot, as is the default.
    ///
    /// @return the changed options
    public OpenOptions newest() {
        return with(SNAPSHOT, OptionalLong.empty());
    }

    /// Sets the directory below which other files that have bytes of this file may be opened: adopted files and
    /// `.croft` bases. A path that leaves the directory by symbolic links is refused. Without a root, no adopted files
    /// are opened, as an untrusted file must not choose which files a program opens; `.croft` bases, whose ids are
    /// checked, are then searched for below the directory of the file.
    ///
    /// @param root the directory, which is used when bytes of another file are first needed
    /// @return the changed options
    public OpenOptions root(Path root) {
        return with(ROOT, root);
    }

    /// Sets the path of a `.croft` base, instead of the path that is recorded in the file. Its id is checked.
    ///
    /// @param uuid the id of the base
    /// @param file the path of the base
    /// @return the changed options
    public OpenOptions base(UUID uuid, Path file) {
        Map<UUID, Path> more = new HashMap<>(basesById());
        more.put(Objects.requireNonNull(uuid, "uuid"), Objects.requireNonNull(file, "file"));
        return with(BASES_BY_ID, Map.copyOf(more));
    }

    /// Adds a file that may have bytes of this file, such as a base or an adopted file that was renamed or moved. It is
    /// used for each base that it matches. A `.croft` file is recognised by its id and snapshot; an adopted file by its
    /// size and the digest of all its bytes, for which it is read once if its name is not the recorded name. Other
    /// files have no effect. These files are tried before those below the root.
    ///
    /// @param file the file, which is used when bytes of another file are first needed
    /// @return the changed options
    public OpenOptions base(Path file) {
        Objects.requireNonNull(file, "file");
        return with(BASES, Stream.concat(bases().stream(), Stream.of(file)).toList());
    }

    /// Chooses when bytes of storages are compared with their checksums. By default methods that read many bytes of a
    /// storage compare them, as [ChecksumPolicy#WHEN_READ_WHOLE] describes; single elements are read without a check,
    /// unless they are in adopted files. [ChecksumPolicy#ON_TOUCH] checks each storage before its first element is
    /// read.
    ///
    /// @param checksums when checksums are compared
    /// @return the changed options
    public OpenOptions checksums(ChecksumPolicy checksums) {
        return with(CHECKSUMS, checksums);
    }

    /// Reads the bytes of all storages when the checkpoint is opened, by several threads, into memory of this process
    /// (in huge pages if the system has them). Later changes of the file have no effect. By default, storages are
    /// mapped and read at the first access. The memory is freed when the checkpoint is closed, as mappings are: retain
    /// a storage or copy a tensor to use it longer.
    ///
    /// The bytes are compared with their checksums, unless the [policy][#checksums] is [ChecksumPolicy#NONE]. If a
    /// storage of a `.croft` file is damaged, the others are loaded: [Checkpoint#damages] lists it, and access to it
    /// throws. If a record of a zip archive is damaged, the open fails.
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
        return with(IN_MEMORY, Optional.empty());
    }

    /// Reads the bytes of all storages when the checkpoint is opened, as [#inMemory()], into memory of a given
    /// allocator.
    ///
    /// @param memory an allocator of the CPU, which is called once for each storage, by several threads
    /// @return the changed options
    /// @throws IllegalArgumentException if the allocator is for another device
    public OpenOptions inMemory(Allocator memory) {
        if (!memory.device().isCpu()) {
            throw new IllegalArgumentException("bytes are read into memory of the CPU; storages are moved to "
                    + memory.device() + " with OpenOptions.devices, or with StorageCopier when they are open");
        }
        return with(IN_MEMORY, Optional.of(memory));
    }

    /// Sets a listener for the progress of reads: when a checkpoint is opened [in memory][#inMemory], verified
    /// ([Checkpoint#verify]) or salvaged ([CroftFile#salvage]).
    ///
    /// @param progress called with the number of bytes read so far
    /// @return the changed options
    public OpenOptions progress(ProgressListener progress) {
        return with(PROGRESS, progress);
    }

    /// Loads only the tensors whose names match a pattern. [Checkpoint#names] and similar methods omit the others. In
    /// [Checkpoint#state] the others are meta tensors, unless they share a storage with a chosen tensor. A storage that
    /// no chosen tensor uses is neither read nor mapped.
    ///
    /// In a pattern, `*` matches any characters except `/`, `?` one such character, `**` between slashes any number of
    /// segments including none, and `\` with a character that character. So `model/*.weight` matches `model/fc.weight`
    /// and not `model/head/fc.weight`, which `**/*.weight` matches. Slashes in keys count as slashes between keys. A
    /// pattern that no name matches is an error when a file is opened. [Aliases][Checkpoint#aliases] match as names do:
    /// `fc1.*` chooses the parameters of that layer of a module of PyTorch.
    ///
    /// @param patterns the patterns, one of which a name must match completely; without patterns, no tensor is loaded
    /// @return the changed options
    public OpenOptions only(String... patterns) {
        Objects.requireNonNull(patterns, "patterns");
        List<Glob> globs = Stream.of(patterns).map(Glob::parse).toList();
        return only(name -> globs.stream().anyMatch(glob -> glob.test(name))).with(PATTERNS, globs);
    }

    /// Loads only the tensors whose names a predicate accepts, as [#only(String...)].
    ///
    /// @param names called with the names of tensors as in [Checkpoint#names], by several threads; must return the same
    ///     result for each call
    /// @return the changed options
    public OpenOptions only(Predicate<String> names) {
        Objects.requireNonNull(names, "names");
        return with(ONLY, names).with(PATTERNS, List.of());
    }

    /// Refuses a file whose tensors do not have exactly the expected names, dtypes and shapes. Tensors that [were not
    /// chosen][#only(String...)] do not count. [Checkpoint#compare] reports differences without an exception.
    ///
    /// @param expected the expected dtypes and shapes by name; see [TensorSpec#ofState]
    /// @return the changed options
    public OpenOptions strict(Map<String, TensorSpec> expected) {
        Objects.requireNonNull(expected, "expected");
        Map<String, TensorSpec> ordered = Collections.unmodifiableMap(new LinkedHashMap<>(expected));
        return with(STRICT, ordered);
    }

    /// Sets the classes of the program whose objects may be in the state. By default, there are none.
    ///
    /// @param classes records, enums and other classes
    /// @return the changed options
    public OpenOptions classes(StateClasses classes) {
        return with(CLASSES, classes);
    }

    /// Sets the format of the file, if its contents do not identify it. By default, the first format that recognises
    /// the file is used.
    ///
    /// @param format the name of a format, for instance `torch7`; see [Checkpoint#format]
    /// @return the changed options
    public OpenOptions format(String format) {
        return with(FORMAT, format);
    }

    /// Sets an option of a format or of a store. Settings of other formats and stores have no effect. If no known
    /// [format][CheckpointFormat#settings] has the setting for opening, and no
    /// [store][io.undercroft.serializer.spi.StoreProvider#settings] has it, the open fails.
    ///
    /// @param name the name of the format, a dot, and a name, for instance `torch7.longs`
    /// @param value the value, for instance `4`; the format documents it
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
        Map<String, String> more = new HashMap<>(settings());
        more.putAll(settings);
        return with(SETTINGS, Map.copyOf(more));
    }

    /// Sets the directory to which bytes of files in stores are fetched. A file there takes as much space as was read
    /// of the file in the store, at most its size, and is removed when the checkpoint is closed. By default, it is
    /// `java.io.tmpdir`.
    ///
    /// @param temporaryDirectory the directory, on a file system that supports sparse files
    /// @return the changed options
    public OpenOptions temporaryDirectory(Path temporaryDirectory) {
        return with(TEMPORARY_DIRECTORY, temporaryDirectory);
    }

    /// {@return how storages are mapped}
    public MapMode mapping() {
        return values.get(MAPPING);
    }

    /// {@return the device to load a storage to} A meta storage stays on the meta device.
    ///
    /// @param saved the device that is named in the file
    /// @throws NullPointerException if the function for [#devices(UnaryOperator)] returns null
    public Device deviceFor(Device saved) {
        UnaryOperator<Device> mapper = values.find(DEVICES).orElse(null);
        if (saved.isMeta() || mapper == null) {
            return saved;
        }
        return Objects.requireNonNull(mapper.apply(saved), () -> "OpenOptions.devices gave no device for " + saved);
    }

    /// {@return the number of the snapshot, or empty for the newest}
    public OptionalLong snapshot() {
        return values.get(SNAPSHOT);
    }

    /// {@return the directory below which other files may be opened, if it was set}
    public Optional<Path> root() {
        return values.find(ROOT);
    }

    /// {@return the paths of `.croft` bases by their ids}
    public Map<UUID, Path> basesById() {
        return values.get(BASES_BY_ID);
    }

    /// {@return the files that may be bases, in the order in which they were added}
    public List<Path> bases() {
        return values.get(BASES);
    }

    /// {@return when bytes of storages are compared with their checksums}
    public ChecksumPolicy checksums() {
        return values.get(CHECKSUMS);
    }

    /// {@return whether the bytes of storages are read when the file is opened}
    public boolean isInMemory() {
        return values.find(IN_MEMORY).isPresent();
    }

    /// {@return the allocator of the memory that they are read into, or empty for the default}
    public Optional<Allocator> memory() {
        return values.find(IN_MEMORY).orElse(Optional.empty());
    }

    /// {@return the listener for the progress of reads}
    public ProgressListener progress() {
        return values.find(PROGRESS).orElse((_, _) -> {});
    }

    /// {@return whether only some tensors are loaded}
    public boolean isPartial() {
        return values.find(ONLY).isPresent();
    }

    /// {@return whether a tensor is loaded}
    ///
    /// @param name its name, as in [Checkpoint#names]
    public boolean isChosen(String name) {
        Objects.requireNonNull(name, "name");
        Predicate<String> chosen = values.find(ONLY).orElse(null);
        return chosen == null || chosen.test(name);
    }

    /// {@return a test whether a tensor is loaded, as its name is [chosen][#isChosen], or a pattern matches an alias}
    ///
    /// @param aliases the names of the tensors by their [aliases][Checkpoint#aliases]; called if there are patterns
    public Predicate<String> choice(Supplier<Map<String, String>> aliases) {
        Objects.requireNonNull(aliases, "aliases");
        if (patterns().isEmpty()) {
            return this::isChosen;
        }
        Set<String> also = aliases.get().entrySet().stream()
                .filter(alias -> patterns().stream().anyMatch(glob -> glob.test(alias.getKey())))
                .map(Map.Entry::getValue).collect(Collectors.toUnmodifiableSet());
        return name -> isChosen(name) || also.contains(name);
    }

    /// {@return the patterns of which each has to match some name}
    List<Glob> patterns() {
        return values.get(PATTERNS);
    }

    /// {@return the expected dtypes and shapes by name, if they were set}
    public Optional<Map<String, TensorSpec>> expected() {
        return values.find(STRICT);
    }

    /// {@return the classes of the program whose objects may be in the state}
    public StateClasses classes() {
        return values.get(CLASSES);
    }

    /// {@return the name of the format, if it was set}
    public Optional<String> format() {
        return values.find(FORMAT);
    }

    /// {@return the value of a setting, if it was set}
    ///
    /// @param name the name of the setting
    public Optional<String> setting(String name) {
        Objects.requireNonNull(name, "name");
        return Optional.ofNullable(settings().get(name));
    }

    /// {@return values of settings of formats and stores, by name}
    public Map<String, String> settings() {
        return values.get(SETTINGS);
    }

    /// {@return the directory to which bytes of files in stores are fetched, or empty for that of the system}
    public Optional<Path> temporaryDirectory() {
        return values.find(TEMPORARY_DIRECTORY);
    }
}
