package io.undercroft.serializer;

import io.undercroft.mmap.MapMode;
import io.undercroft.storage.Device;
import java.util.Objects;
import java.util.function.UnaryOperator;

/// How a checkpoint is opened. Immutable: each method returns a changed copy.
public final class OpenOptions {
    private static final OpenOptions DEFAULTS = new OpenOptions(MapMode.PRIVATE, UnaryOperator.identity());

    private final MapMode mapping;
    private final UnaryOperator<Device> devices;

    private OpenOptions(MapMode mapping, UnaryOperator<Device> devices) {
        this.mapping = mapping;
        this.devices = devices;
    }

    /// {@return copy-on-write mapping, devices as saved}
    public static OpenOptions defaults() {
        return DEFAULTS;
    }

    /// Chooses how storages are mapped.
    ///
    /// Writing through a shared mapping changes the file under its own checksums: [Checkpoint#verify] then reports what was
    /// written as damage. It is meant for copies in shared memory that nobody archives. A `.croft` storage that is partly
    /// zeros has no bytes in the file to write to, and cannot be mapped shared.
    ///
    /// @param mode copy-on-write (the file never changes), read-only, or shared (writes reach the file)
    /// @return the changed options
    public OpenOptions mapping(MapMode mode) {
        return new OpenOptions(Objects.requireNonNull(mode, "mode"), devices);
    }

    /// Chooses where storages go, as `map_location` does in PyTorch. Those that were saved from the meta device have no
    /// bytes in the file, and stay there.
    ///
    /// @param mapper called with the device that a storage was saved from, for instance `cuda:0`; returns where it should be
    /// @return the changed options
    public OpenOptions devices(UnaryOperator<Device> mapper) {
        return new OpenOptions(mapping, Objects.requireNonNull(mapper, "mapper"));
    }

    /// Opens everything on the meta device (`map_location="meta"` in PyTorch): storages have their sizes and tensors their
    /// geometry, sharing is kept, and of the elements nothing is read or mapped, now or later. Reading them throws
    /// [IllegalStateException].
    ///
    /// @return the changed options
    public OpenOptions onMeta() {
        return devices(_ -> Device.META);
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
}
