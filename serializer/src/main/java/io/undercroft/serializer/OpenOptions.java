package io.undercroft.serializer;

import io.undercroft.mmap.MapMode;
import io.undercroft.serializer.internal.loading.Glob;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.storage.Allocator;
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
import java.util.UUID;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// How a checkpoint is opened. Immutable: each method returns a changed copy.
public final class OpenOptions {
    private static final OpenOptions DEFAULTS = new OpenOptions(MapMode.PRIVATE, UnaryOperator.identity(),
            OptionalLong.empty(), new OtherFiles(null, Map.of(), List.of()),
            ChecksumPolicy.WHEN_READ_WHOLE, Selection.ALL);

    private final MapMode mapping;
    private final UnaryOperator<Device> devices;
    private final OptionalLong snapshot;
    private final OtherFiles others;
    private final ChecksumPolicy verification;
    private final Selection selection;

    /// What is loaded, and into what.
    ///
    /// @param names which tensors, or null for all
    /// @param patterns what was given for that, each of which has to match some name
    /// @param expected what there should be, or null for anything
    /// @param loading whether and how bytes are read at once
    /// @param classes of what objects of the program may be
    /// @param reading how the file is to be understood
    private record Selection(@Nullable Predicate<String> names, List<Glob> patterns,
            @Nullable Map<String, TensorSpec> expected,
            Loading loading, StateClasses classes, Reading reading) {
        static final Selection ALL = new Selection(null, List.of(), null, new Loading(false, null, (_, _) -> {}),
                StateClasses.of(), new Reading(null, Map.of()));
    }

    /// What is read when a checkpoint is opened.
    ///
    /// @param isInMemory whether bytes are read at once
    /// @param memory where to, or null for our own
    /// @param progress is told how far that has come
    private record Loading(boolean isInMemory, @Nullable Allocator memory, LoadProgress progress) {}

    /// Where the other files are that have bytes of this one.
    ///
    /// @param root below which directory they are, or null
    /// @param byId where `.croft` files are, by their ids
    /// @param named files that may be some of them
    private record OtherFiles(@Nullable Path root, Map<UUID, Path> byId, List<Path> named) {}

    /// What the file does not say itself.
    private record Reading(@Nullable String format, Map<String, String> settings) {}

    private OpenOptions(MapMode mapping, UnaryOperator<Device> devices, OptionalLong snapshot, OtherFiles others,
            ChecksumPolicy verification, Selection selection) {
        this.mapping = mapping;
        this.devices = devices;
        this.snapshot = snapshot;
        this.others = others;
        this.verification = verification;
        this.selection = selection;
    }

    /// {@return copy-on-write mapping, devices as saved, the newest snapshot, no root, checksums compared by what reads
    /// many bytes}
    public static OpenOptions defaults() {
        return DEFAULTS;
    }

    /// Chooses how storages are mapped.
    ///
    /// Writing through a shared mapping changes the file under its own checksums: [Checkpoint#verify] then reports what
    /// was written as damage. It is meant for copies in shared memory that nobody archives. A `.croft` storage that is
    /// partly zeros, is partly in another file, or has bytes in common with another storage, has not all its bytes
    /// for its own in the file, and cannot be mapped shared; [SaveOptions#writableInPlace] makes files without such
    /// storages.
    ///
    /// @param mode copy-on-write (the file never changes), read-only, or shared (writes reach the file)
    /// @return the changed options
    public OpenOptions mapping(MapMode mode) {
        return new OpenOptions(Objects.requireNonNull(mode, "mode"), devices, snapshot, others, verification,
                selection);
    }

    /// Maps the file read-only, as [#mapping(MapMode)] with [MapMode#READ_ONLY]: writing to a tensor throws.
    ///
    /// @return the changed options
    public OpenOptions readOnly() {
        return mapping(MapMode.READ_ONLY);
    }

    /// Chooses where storages go, as `map_location` does in PyTorch: all on the CPU with `devices(_ -> Device.CPU)`,
    /// those of one device with `devices(Map.of(Device.cuda(1), Device.cuda(0)))`. It is asked for storages, so that
    /// tensors on one storage stay on one. Those that were saved from the meta device have no bytes in the file, and
    /// stay there.
    ///
    /// A storage that is to go to a device which is not there is refused when it is needed, or when the file is opened.
    ///
    /// @param mapper called with the device that a storage was saved from, for instance `cuda:0`; returns where it
    ///     should be
    /// @return the changed options
    public OpenOptions devices(UnaryOperator<Device> mapper) {
        return new OpenOptions(mapping, Objects.requireNonNull(mapper, "mapper"), snapshot, others, verification,
                selection);
    }

    /// Chooses where the storages of some devices go; those of others go where they were saved from.
    ///
    /// @param places the new device for each that is moved
    /// @return the changed options
    public OpenOptions devices(Map<Device, Device> places) {
        Objects.requireNonNull(places, "places");
        Map<Device, Device> copy = Map.copyOf(places);
        return devices(saved -> copy.getOrDefault(saved, saved));
    }

    /// Loads everything to one device, wherever it was saved from. A storage is read from the file straight into the
    /// buffers that the device copies from, at the first call that needs its bytes there; with [#inMemory()] all are,
    /// when the checkpoint is opened. Bytes on a device are the program's own: what is written to them does not reach
    /// the file, and they can be written to if the file is opened copy-on-write.
    ///
    /// @param device the device
    /// @return the changed options
    public OpenOptions device(Device device) {
        Objects.requireNonNull(device, "device");
        return devices(_ -> device);
    }

    /// Opens everything on the meta device (`map_location="meta"` in PyTorch): storages have their sizes and tensors
    /// their geometry, sharing is kept, and of the elements nothing is read or mapped, now or later. Reading them
    /// throws [IllegalStateException].
    ///
    /// @return the changed options
    public OpenOptions onMeta() {
        return device(Device.META);
    }

    /// Opens an earlier snapshot instead of the newest one. There is nothing to fall back to then if it is damaged.
    ///
    /// @param commit its number, see [SnapshotInfo#commit] and [Checkpoint#snapshots]
    /// @return the changed options
    /// @throws IllegalArgumentException if no snapshot can have that number
    public OpenOptions snapshot(long commit) {
        if (commit < 1) {
            throw new IllegalArgumentException("snapshots are numbered from 1; there is no " + commit);
        }
        return new OpenOptions(mapping, devices, OptionalLong.of(commit), others, verification, selection);
    }

    /// Opens the newest snapshot, as is the default.
    ///
    /// @return the changed options
    public OpenOptions newest() {
        return new OpenOptions(mapping, devices, OptionalLong.empty(), others, verification, selection);
    }

    /// Says below which directory other files may be in which bytes of this one are: adopted files and `.croft` files
    /// that were named as bases. A file that leads out of it, by symbolic links, is refused. Without a root no adopted
    /// file is opened, as a file from elsewhere must not choose what a program opens; `.croft` bases are then looked
    /// for below the directory of the file, since their ids must match anyway.
    ///
    /// @param directory the directory; looked at when a byte of another file is asked for
    /// @return the changed options
    public OpenOptions root(Path directory) {
        return new OpenOptions(mapping, devices, snapshot,
                new OtherFiles(Objects.requireNonNull(directory, "directory"), others.byId, others.named),
                verification, selection);
    }

    /// Says where a `.croft` file is that was named as a base, wherever that is and whatever the file says about it.
    /// Its id is checked all the same.
    ///
    /// @param uuid the id of the base
    /// @param file where it is
    /// @return the changed options
    public OpenOptions base(UUID uuid, Path file) {
        Map<UUID, Path> more = new HashMap<>(others.byId);
        more.put(Objects.requireNonNull(uuid, "uuid"), Objects.requireNonNull(file, "file"));
        return new OpenOptions(mapping, devices, snapshot, new OtherFiles(others.root, Map.copyOf(more), others.named),
                verification, selection);
    }

    /// Names a file that may have bytes of this one, wherever it is and whatever it is called now, such as a base or an
    /// adopted file that was renamed. It is used for each base that it is: a `.croft` file is recognised by its id and
    /// snapshot, an adopted one by its size and by a digest of all its bytes, for which it is read once if its name is
    /// not the one recorded. A file that is no base has no effect. Files that are named are tried before those below
    /// the root.
    ///
    /// @param file the file; looked at when a byte of another file is asked for
    /// @return the changed options
    public OpenOptions base(Path file) {
        Objects.requireNonNull(file, "file");
        List<Path> more = Stream.concat(others.named.stream(), Stream.of(file)).toList();
        return new OpenOptions(mapping, devices, snapshot, new OtherFiles(others.root, others.byId, more), verification,
                selection);
    }

    /// Chooses when bytes of storages are compared with their checksums. By default whatever reads many bytes of a
    /// storage compares them, as [ChecksumPolicy#WHEN_READ_WHOLE] says; single elements are read without, unless they
    /// are in adopted files. [ChecksumPolicy#ON_TOUCH] checks each storage before its first element is read.
    ///
    /// @param policy when
    /// @return the changed options
    public OpenOptions verification(ChecksumPolicy policy) {
        return new OpenOptions(mapping, devices, snapshot, others, Objects.requireNonNull(policy, "policy"),
                selection);
    }

    // ---- what is loaded ----

    /// Reads the bytes of all storages when the checkpoint is opened, with several threads, into memory of this process
    /// (huge pages where the system has them). Nothing is mapped then: what happens to the file later does not show. By
    /// default storages are mapped, and read when they are touched.
    ///
    /// What is read is compared with its checksums, unless the [policy][#verification] is [ChecksumPolicy#NONE]. A
    /// damaged storage of a `.croft` file does not keep others from being loaded: [Checkpoint#damages] lists it, and it
    /// throws when it is touched. A damaged record of a zip archive is refused when the file is opened.
    ///
    /// Storages up to some 32 MiB lie in blocks of memory together, and a block is given back when the last storage in
    /// it is released. What [goes to a device][#device] is loaded with one upload for each device, and is in memory of
    /// the host only while it passes through its buffers.
    ///
    /// @return the changed options
    public OpenOptions inMemory() {
        return with(new Loading(true, null, selection.loading.progress));
    }

    /// Reads the bytes of all storages when the checkpoint is opened, as [#inMemory()], into memory of the caller's
    /// choice.
    ///
    /// @param memory asked once for each storage, by several threads; of the CPU
    /// @return the changed options
    /// @throws IllegalArgumentException if it is the memory of another device
    public OpenOptions inMemory(Allocator memory) {
        if (!memory.device().isCpu()) {
            throw new IllegalArgumentException("bytes are read into memory of the CPU; storages are moved to "
                    + memory.device() + " with OpenOptions.devices, or with StorageCopier when they are open");
        }
        return with(new Loading(true, memory, selection.loading.progress));
    }

    private OpenOptions with(Loading loading) {
        return with(new Selection(selection.names, selection.patterns, selection.expected, loading, selection.classes,
                selection.reading));
    }

    /// Names a listener that is told how far loading has come, for what is [read when a checkpoint is
    /// opened][#inMemory].
    ///
    /// @param listener is told how many bytes of storages have been read
    /// @return the changed options
    public OpenOptions progress(LoadProgress listener) {
        return with(new Loading(selection.loading.isInMemory, selection.loading.memory,
                Objects.requireNonNull(listener, "listener")));
    }

    /// Loads some tensors only, those whose names match a pattern. To [Checkpoint#names] and the like the others are
    /// not there. In [Checkpoint#state] they are meta tensors, but those that share a storage with a chosen one: the
    /// tree keeps its shape, and of a storage that no chosen tensor uses nothing is read or mapped. Chosen tensors
    /// share storages as all do.
    ///
    /// In a pattern `*` stands for any characters but `/`, `?` for one such, `**` between slashes for any number of
    /// segments, also none, and `\` before a character for that character. So `model/*.weight` means `model/fc.weight`
    /// and not `model/head/fc.weight`, which `**/*.weight` means too. Slashes in keys count as slashes between keys. A
    /// pattern that no name matches is an error when a file is opened.
    ///
    /// @param patterns one of which a name must match as a whole
    /// @return the changed options
    public OpenOptions only(String... patterns) {
        Objects.requireNonNull(patterns, "patterns");
        List<Glob> globs = Stream.of(patterns).map(Glob::parse).toList();
        return with(new Selection(name -> globs.stream().anyMatch(glob -> glob.test(name)), globs, selection.expected,
                selection.loading, selection.classes, selection.reading));
    }

    /// Loads some tensors only, as [#only(String...)].
    ///
    /// @param names called with the names of tensors as [Checkpoint#names] has them, by several threads; has to answer
    ///     the same each time
    /// @return the changed options
    public OpenOptions only(Predicate<String> names) {
        return with(new Selection(Objects.requireNonNull(names, "names"), List.of(), selection.expected,
                selection.loading, selection.classes,
                selection.reading));
    }

    /// Refuses a file whose tensors are not those expected, by name, dtype and shape: none missing, none besides. Those
    /// that [were not chosen][#only(String...)] do not count. [Checkpoint#compare] tells without refusing.
    ///
    /// @param expected what the tensors should be, by their names; see [TensorSpec#ofState]
    /// @return the changed options
    public OpenOptions strict(Map<String, TensorSpec> expected) {
        Objects.requireNonNull(expected, "expected");
        Map<String, TensorSpec> ordered = Collections.unmodifiableMap(new LinkedHashMap<>(expected));
        return with(new Selection(selection.names, selection.patterns, ordered, selection.loading,
                selection.classes,
                selection.reading));
    }

    /// Says of which classes of the program objects may be in the state, as they did when it was saved. By default
    /// of none.
    ///
    /// @param known records, enums and other classes
    /// @return the changed options
    public OpenOptions classes(StateClasses known) {
        return with(new Selection(selection.names, selection.patterns, selection.expected, selection.loading,
                Objects.requireNonNull(known, "known"), selection.reading));
    }

    /// Says of which format the file is, for one that does not show it, or shows another. By default the formats are
    /// asked in turn.
    ///
    /// @param name the name of a format, for instance `torch7`; see [Checkpoint#format]
    /// @return the changed options
    public OpenOptions format(String name) {
        return with(new Reading(Objects.requireNonNull(name, "name"), selection.reading.settings));
    }

    /// Tells a format what its files do not say themselves. What other formats know has no effect; a name that is no
    /// [setting][CheckpointFormat#settings] of any known format for opening is refused when a file is opened.
    ///
    /// @param name the name of the format, a dot, and a name, for instance `torch7.longs`
    /// @param value what the format documents, for instance `4`
    /// @return the changed options
    public OpenOptions setting(String name, String value) {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(value, "value");
        return settings(Map.of(name, value));
    }

    /// Tells formats several things, as [#setting(String, String)].
    ///
    /// @param settings values by name
    /// @return the changed options
    public OpenOptions settings(Map<String, String> settings) {
        Objects.requireNonNull(settings, "settings");
        Map<String, String> more = new HashMap<>(selection.reading.settings);
        more.putAll(settings);
        return with(new Reading(selection.reading.format, Map.copyOf(more)));
    }

    private OpenOptions with(Reading reading) {
        return with(new Selection(selection.names, selection.patterns, selection.expected, selection.loading,
                selection.classes, reading));
    }

    /// {@return the name of the format of the file, if that was said}
    public Optional<String> format() {
        return Optional.ofNullable(selection.reading.format);
    }

    /// {@return what was said to a format, if anything was}
    ///
    /// @param name the name of a setting
    public Optional<String> setting(String name) {
        Objects.requireNonNull(name, "name");
        return Optional.ofNullable(selection.reading.settings.get(name));
    }

    /// {@return all that was said to formats, by the names of the settings}
    public Map<String, String> settings() {
        return selection.reading.settings;
    }

    /// {@return of which classes of the program objects may be in the state}
    public StateClasses classes() {
        return selection.classes;
    }

    /// {@return whether bytes are read when a checkpoint is opened}
    public boolean isInMemory() {
        return selection.loading.isInMemory;
    }

    /// {@return what memory they are read into then, if that was said}
    public Optional<Allocator> memory() {
        return Optional.ofNullable(selection.loading.memory);
    }

    /// {@return the listener that is told how far loading has come; one that does nothing if none was named}
    public LoadProgress progress() {
        return selection.loading.progress;
    }

    /// {@return whether only some tensors are loaded}
    public boolean isPartial() {
        return selection.names != null;
    }

    /// {@return the patterns of which each has to match some name}
    List<Glob> patterns() {
        return selection.patterns;
    }

    /// {@return whether a tensor is loaded}
    ///
    /// @param name its name, as [Checkpoint#names] has it
    public boolean isChosen(String name) {
        Objects.requireNonNull(name, "name");
        return selection.names == null || selection.names.test(name);
    }

    /// {@return what the tensors should be, if that was said}
    public Optional<Map<String, TensorSpec>> expected() {
        return Optional.ofNullable(selection.expected);
    }

    private OpenOptions with(Selection changed) {
        return new OpenOptions(mapping, devices, snapshot, others, verification, changed);
    }

    // ---- what was said ----

    /// {@return how storages are mapped}
    public MapMode mapping() {
        return mapping;
    }

    /// {@return where a storage goes that was saved from a device}
    ///
    /// @param saved the device named in the file
    public Device deviceFor(Device saved) {
        return saved.isMeta()
                ? saved
                : Objects.requireNonNull(devices.apply(saved), () -> "OpenOptions.devices gave no device for " + saved);
    }

    /// {@return which snapshot is to be opened, if not the newest}
    public OptionalLong snapshot() {
        return snapshot;
    }

    /// {@return below which directory other files may be}
    public Optional<Path> root() {
        return Optional.ofNullable(others.root);
    }

    /// {@return where the caller says that a `.croft` file is}
    ///
    /// @param uuid its id
    public Optional<Path> base(UUID uuid) {
        Objects.requireNonNull(uuid, "uuid");
        return Optional.ofNullable(others.byId.get(uuid));
    }

    /// {@return where the caller says that `.croft` files are, by their ids}
    public Map<UUID, Path> basesById() {
        return others.byId;
    }

    /// {@return the files that the caller names as possible bases, in the order in which they were named}
    public List<Path> bases() {
        return others.named;
    }

    /// {@return when bytes of storages are compared with their checksums}
    public ChecksumPolicy verification() {
        return verification;
    }
}
