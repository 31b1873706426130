package io.undercroft.serializer;

import io.undercroft.mmap.MapMode;
import io.undercroft.serializer.internal.loading.Glob;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.OpenRequest;
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
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// How a checkpoint is opened. Immutable: each method returns a changed copy. What was chosen is in [#request()], for
/// implementers of formats.
public final class OpenOptions {
    private static final OpenOptions DEFAULTS = new OpenOptions(new Values());

    private final Values values;
    private final OpenRequest request;

    /// What was chosen. Not changed once it is in an instance of the options.
    private static final class Values implements Cloneable {
        MapMode mapping = MapMode.PRIVATE;
        UnaryOperator<Device> devices = UnaryOperator.identity();
        OptionalLong snapshot = OptionalLong.empty();
        @Nullable
        Path root;
        Map<UUID, Path> basesById = Map.of();
        List<Path> bases = List.of();
        ChecksumPolicy verification = ChecksumPolicy.WHEN_READ_WHOLE;
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

        Values copy() {
            try {
                return (Values) clone();
            } catch (CloneNotSupportedException impossible) {
                throw new AssertionError(impossible);
            }
        }

        OpenRequest request() {
            return new OpenRequest(mapping, devices, snapshot, Optional.ofNullable(root), basesById, bases,
                    verification, isInMemory, Optional.ofNullable(memory), progress, Optional.ofNullable(chosen),
                    Optional.ofNullable(expected), classes, Optional.ofNullable(format), settings);
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
        Objects.requireNonNull(mapper, "mapper");
        return with(copy -> copy.devices = mapper);
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
        return with(copy -> copy.snapshot = OptionalLong.of(commit));
    }

    /// Opens the newest snapshot, as is the default.
    ///
    /// @return the changed options
    public OpenOptions newest() {
        return with(copy -> copy.snapshot = OptionalLong.empty());
    }

    /// Says below which directory other files may be in which bytes of this one are: adopted files and `.croft` files
    /// that were named as bases. A file that leads out of it, by symbolic links, is refused. Without a root no adopted
    /// file is opened, as a file from elsewhere must not choose what a program opens; `.croft` bases are then looked
    /// for below the directory of the file, since their ids must match anyway.
    ///
    /// @param directory the directory; looked at when a byte of another file is asked for
    /// @return the changed options
    public OpenOptions root(Path directory) {
        Objects.requireNonNull(directory, "directory");
        return with(copy -> copy.root = directory);
    }

    /// Says where a `.croft` file is that was named as a base, wherever that is and whatever the file says about it.
    /// Its id is checked all the same.
    ///
    /// @param uuid the id of the base
    /// @param file where it is
    /// @return the changed options
    public OpenOptions base(UUID uuid, Path file) {
        Map<UUID, Path> more = new HashMap<>(values.basesById);
        more.put(Objects.requireNonNull(uuid, "uuid"), Objects.requireNonNull(file, "file"));
        return with(copy -> copy.basesById = Map.copyOf(more));
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
        return with(copy -> copy.bases = Stream.concat(copy.bases.stream(), Stream.of(file)).toList());
    }

    /// Chooses when bytes of storages are compared with their checksums. By default whatever reads many bytes of a
    /// storage compares them, as [ChecksumPolicy#WHEN_READ_WHOLE] says; single elements are read without, unless they
    /// are in adopted files. [ChecksumPolicy#ON_TOUCH] checks each storage before its first element is read.
    ///
    /// @param policy when
    /// @return the changed options
    public OpenOptions verification(ChecksumPolicy policy) {
        Objects.requireNonNull(policy, "policy");
        return with(copy -> copy.verification = policy);
    }

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
        return with(copy -> {
            copy.isInMemory = true;
            copy.memory = null;
        });
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
        return with(copy -> {
            copy.isInMemory = true;
            copy.memory = memory;
        });
    }

    /// Names a listener that is told how far loading has come, for what is [read when a checkpoint is
    /// opened][#inMemory].
    ///
    /// @param listener is told how many bytes of storages have been read
    /// @return the changed options
    public OpenOptions progress(LoadProgress listener) {
        Objects.requireNonNull(listener, "listener");
        return with(copy -> copy.progress = listener);
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
        return with(copy -> {
            copy.chosen = name -> globs.stream().anyMatch(glob -> glob.test(name));
            copy.patterns = globs;
        });
    }

    /// Loads some tensors only, as [#only(String...)].
    ///
    /// @param names called with the names of tensors as [Checkpoint#names] has them, by several threads; has to answer
    ///     the same each time
    /// @return the changed options
    public OpenOptions only(Predicate<String> names) {
        Objects.requireNonNull(names, "names");
        return with(copy -> {
            copy.chosen = names;
            copy.patterns = List.of();
        });
    }

    /// Refuses a file whose tensors are not those expected, by name, dtype and shape: none missing, none besides. Those
    /// that [were not chosen][#only(String...)] do not count. [Checkpoint#compare] tells without refusing.
    ///
    /// @param expected what the tensors should be, by their names; see [TensorSpec#ofState]
    /// @return the changed options
    public OpenOptions strict(Map<String, TensorSpec> expected) {
        Objects.requireNonNull(expected, "expected");
        Map<String, TensorSpec> ordered = Collections.unmodifiableMap(new LinkedHashMap<>(expected));
        return with(copy -> copy.expected = ordered);
    }

    /// Says of which classes of the program objects may be in the state, as they did when it was saved. By default
    /// of none.
    ///
    /// @param known records, enums and other classes
    /// @return the changed options
    public OpenOptions classes(StateClasses known) {
        Objects.requireNonNull(known, "known");
        return with(copy -> copy.classes = known);
    }

    /// Says of which format the file is, for one that does not show it, or shows another. By default the formats are
    /// asked in turn.
    ///
    /// @param name the name of a format, for instance `torch7`; see [Checkpoint#format]
    /// @return the changed options
    public OpenOptions format(String name) {
        Objects.requireNonNull(name, "name");
        return with(copy -> copy.format = name);
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
        Map<String, String> more = new HashMap<>(values.settings);
        more.putAll(settings);
        return with(copy -> copy.settings = Map.copyOf(more));
    }

    /// {@return the values that were chosen, for implementers of formats}
    public OpenRequest request() {
        return request;
    }

    /// {@return the patterns of which each has to match some name}
    List<Glob> patterns() {
        return values.patterns;
    }
}
