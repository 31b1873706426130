package io.undercroft.serializer;

import io.undercroft.mmap.MapMode;
import io.undercroft.storage.Device;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/// How a checkpoint is opened. Immutable: each method returns a changed copy.
public final class OpenOptions {
    private static final OpenOptions DEFAULTS = new OpenOptions(MapMode.PRIVATE, UnaryOperator.identity(),
            OptionalLong.empty(), null, Map.of(), ChecksumPolicy.ADOPTED);

    private final MapMode mapping;
    private final UnaryOperator<Device> devices;
    private final OptionalLong snapshot;
    private final @Nullable Path root;
    private final Map<UUID, Path> bases;
    private final ChecksumPolicy verification;

    private OpenOptions(MapMode mapping, UnaryOperator<Device> devices, OptionalLong snapshot, @Nullable Path root,
            Map<UUID, Path> bases, ChecksumPolicy verification) {
        this.mapping = mapping;
        this.devices = devices;
        this.snapshot = snapshot;
        this.root = root;
        this.bases = bases;
        this.verification = verification;
    }

    /// {@return copy-on-write mapping, devices as saved, the newest snapshot, no root, checksums of adopted files only}
    public static OpenOptions defaults() {
        return DEFAULTS;
    }

    /// Chooses how storages are mapped.
    ///
    /// Writing through a shared mapping changes the file under its own checksums: [Checkpoint#verify] then reports what was
    /// written as damage. It is meant for copies in shared memory that nobody archives. A `.croft` storage that is partly
    /// zeros, stands partly in another file, or has bytes in common with another storage, has not all its bytes for its own
    /// in the file, and cannot be mapped shared; [SaveOptions#writableInPlace] makes files without such storages.
    ///
    /// @param mode copy-on-write (the file never changes), read-only, or shared (writes reach the file)
    /// @return the changed options
    public OpenOptions mapping(MapMode mode) {
        return new OpenOptions(Objects.requireNonNull(mode, "mode"), devices, snapshot, root, bases, verification);
    }

    /// Chooses where storages go, as `map_location` does in PyTorch. Those that were saved from the meta device have no
    /// bytes in the file, and stay there.
    ///
    /// @param mapper called with the device that a storage was saved from, for instance `cuda:0`; returns where it should be
    /// @return the changed options
    public OpenOptions devices(UnaryOperator<Device> mapper) {
        return new OpenOptions(mapping, Objects.requireNonNull(mapper, "mapper"), snapshot, root, bases, verification);
    }

    /// Opens everything on the meta device (`map_location="meta"` in PyTorch): storages have their sizes and tensors their
    /// geometry, sharing is kept, and of the elements nothing is read or mapped, now or later. Reading them throws
    /// [IllegalStateException].
    ///
    /// @return the changed options
    public OpenOptions onMeta() {
        return devices(_ -> Device.META);
    }

    /// Opens an earlier snapshot instead of the newest one. There is nothing to fall back to then if it is damaged.
    ///
    /// @param sequence its number, see [Checkpoint#snapshots]
    /// @return the changed options
    /// @throws IllegalArgumentException if no snapshot can have that number
    public OpenOptions snapshot(long sequence) {
        if (sequence < 1) {
            throw new IllegalArgumentException("snapshots are numbered from 1; there is no " + sequence);
        }
        return new OpenOptions(mapping, devices, OptionalLong.of(sequence), root, bases, verification);
    }

    /// Opens the newest snapshot, as is the default.
    ///
    /// @return the changed options
    public OpenOptions newest() {
        return new OpenOptions(mapping, devices, OptionalLong.empty(), root, bases, verification);
    }

    /// Says below which directory other files may be in which bytes of this one stand: adopted files and `.croft` files that
    /// were named as bases. A file that leads out of it, by symbolic links, is refused. Without a root no adopted file is
    /// opened, as a file from elsewhere must not choose what a program opens; `.croft` bases are then looked for below the
    /// directory of the file, since their ids must match anyway.
    ///
    /// @param directory the directory; looked at when a byte of another file is asked for
    /// @return the changed options
    public OpenOptions root(Path directory) {
        return new OpenOptions(mapping, devices, snapshot, Objects.requireNonNull(directory, "directory"), bases,
                verification);
    }

    /// Says where a `.croft` file is that was named as a base, wherever that is and whatever the file says about it. Its id is
    /// checked all the same.
    ///
    /// @param uuid the id of the base
    /// @param file where it is
    /// @return the changed options
    public OpenOptions base(UUID uuid, Path file) {
        Map<UUID, Path> more = new HashMap<>(bases);
        more.put(Objects.requireNonNull(uuid, "uuid"), Objects.requireNonNull(file, "file"));
        return new OpenOptions(mapping, devices, snapshot, root, Map.copyOf(more), verification);
    }

    /// Chooses when bytes of storages are compared with their checksums. By default those in adopted files are, when they are
    /// touched, and no others: opening a file of any size takes milliseconds, and reading one element reads one page.
    ///
    /// @param policy when
    /// @return the changed options
    public OpenOptions verification(ChecksumPolicy policy) {
        return new OpenOptions(mapping, devices, snapshot, root, bases, Objects.requireNonNull(policy, "policy"));
    }

    /// {@return how storages are mapped}
    public MapMode mapping() {
        return mapping;
    }

    /// {@return where a storage goes that was saved from a device}
    ///
    /// @param saved the device named in the file
    public Device deviceFor(Device saved) {
        return saved.isMeta() ? saved : devices.apply(saved);
    }

    /// {@return which snapshot is to be opened, if not the newest}
    public OptionalLong snapshot() {
        return snapshot;
    }

    /// {@return below which directory other files may be}
    public Optional<Path> root() {
        return Optional.ofNullable(root);
    }

    /// {@return where the caller says that a `.croft` file is}
    ///
    /// @param uuid its id
    public Optional<Path> base(UUID uuid) {
        return Optional.ofNullable(bases.get(uuid));
    }

    /// {@return when bytes of storages are compared with their checksums}
    public ChecksumPolicy verification() {
        return verification;
    }
}
