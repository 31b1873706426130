package io.undercroft.serializer.spi;

import io.undercroft.mmap.MapMode;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.LoadProgress;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Device;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/// The values of [OpenOptions], for formats and for the code that opens files.
///
/// @param mapping how storages are mapped
/// @param devices returns the device of a storage for the device that it was saved from; see [#deviceFor]
/// @param snapshot the number of the snapshot, or empty for the newest
/// @param root the directory below which other files may be
/// @param basesById the paths of `.croft` bases that were given with their ids
/// @param bases the files that were named as possible bases, in the order in which they were named
/// @param checksums when bytes of storages are compared with their checksums
/// @param isInMemory whether the bytes of storages are read when the file is opened
/// @param memory the memory that they are read into, or empty for that of this library
/// @param progress the listener that reports how far loading has come
/// @param chosen a test of the names of the tensors that are loaded, or empty for all; see [#isChosen]
/// @param expected the specs that the tensors must have, by name
/// @param classes the classes of the program whose objects may be in the state
/// @param format the name of the format, if it was given
/// @param settings values of settings of formats and stores, by name
/// @param temporaryDirectory the directory to which bytes of files in stores are fetched, or empty for that of the
///     system
public record OpenRequest(MapMode mapping, UnaryOperator<Device> devices, OptionalLong snapshot, Optional<Path> root,
        Map<UUID, Path> basesById, List<Path> bases, ChecksumPolicy checksums, boolean isInMemory,
        Optional<Allocator> memory, LoadProgress progress, Optional<Predicate<String>> chosen,
        Optional<Map<String, TensorSpec>> expected, StateClasses classes, Optional<String> format,
        Map<String, String> settings, Optional<Path> temporaryDirectory) {

    /// {@return the device of a storage} A meta storage stays one.
    ///
    /// @param saved the device that is named in the file
    public Device deviceFor(Device saved) {
        Device device = saved.isMeta() ? saved : devices.apply(saved);
        if (device == null) {
            throw new NullPointerException("OpenOptions.devices gave no device for " + saved);
        }
        return device;
    }

    /// {@return whether only some tensors are loaded}
    public boolean isPartial() {
        return chosen.isPresent();
    }

    /// {@return whether a tensor is loaded}
    ///
    /// @param name its name, as in `Checkpoint.names`
    public boolean isChosen(String name) {
        return chosen.isEmpty() || chosen.get().test(name);
    }

    /// {@return the value of a setting, if it was given}
    ///
    /// @param name the name of the setting
    public Optional<String> setting(String name) {
        return Optional.ofNullable(settings.get(name));
    }
}
