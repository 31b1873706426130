package io.undercroft.serializer.spi;

import io.undercroft.format.internal.FileLayout;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveOptions.Sharing;
import io.undercroft.serializer.SaveProgress;
import io.undercroft.serializer.SnapshotMemory;
import io.undercroft.serializer.StateClasses;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;

/// The values of [SaveOptions], for formats and for the code that saves files.
///
/// @param format the name of the format, if it was given
/// @param settings values of settings of the format, by name
/// @param metadata free-form text about the snapshot or the file
/// @param run the run that the file is a shard of, if it is one
/// @param message the text of the snapshot in the list of snapshots; may be empty
/// @param time the time of the snapshot, if it was given
/// @param uuid the id of a new file, if it was given
/// @param sharing which storages may share bytes
/// @param bases the files whose bytes are referenced
/// @param root the directory that paths of bases start from, or empty for that of the file
/// @param savesWholeStorages whether all bytes of all storages are saved
/// @param savesZeros whether zeros are saved as bytes, not only as their number
/// @param chunkSize the size of chunks in a new file, in bytes
/// @param classes the classes of the program whose objects may be in the state
/// @param progress the listener that reports how far writing has come
/// @param snapshotMemory the memory that background saves copy a state to, if it was given
/// @param isReplacingReferenced whether a file may be replaced in which bytes of other files are stored
/// @param isReplacingSource whether the file may be replaced that the state was opened from
/// @param isDeletingFormerFiles whether the files of a set that is replaced are deleted
/// @param isLeavingOutUnreadable whether a state is saved without the tensors that cannot be read
/// @param most the maximum number of bytes of elements or storages to write; empty for what is in proportion to the
///     storages of the state
public record SaveRequest(Optional<String> format, Map<String, String> settings, Map<String, String> metadata,
        Optional<Run> run, String message, Optional<Instant> time, Optional<UUID> uuid, Sharing sharing,
        List<Base> bases,
        Optional<Path> root, boolean savesWholeStorages, boolean savesZeros, long chunkSize, StateClasses classes,
        SaveProgress progress, Optional<SnapshotMemory> snapshotMemory, boolean isReplacingReferenced,
        boolean isReplacingSource, boolean isDeletingFormerFiles, boolean isLeavingOutUnreadable, OptionalLong most) {
    /// A run, of which each writer makes a shard.
    ///
    /// @param id its id
    /// @param shards the number of shards
    public record Run(String id, int shards) {}

    /// A file whose bytes are referenced.
    ///
    /// @param file the file
    /// @param opening how it is opened: its format and the settings of that; nothing else has an effect
    public record Base(Path file, OpenOptions opening) {
        /// @throws NullPointerException if something is null
        public Base {
            Objects.requireNonNull(file, "file");
            Objects.requireNonNull(opening, "opening");
        }
    }

    /// {@return whether a chunk of zeros of a storage is not written, only its size}
    ///
    /// @param nbytes the size of the storage in bytes
    public boolean omitsZeros(long nbytes) {
        return !savesZeros && nbytes >= FileLayout.SPARSE_BYTES;
    }

    /// {@return the value of a setting, if it was given}
    ///
    /// @param name the name of the setting
    public Optional<String> setting(String name) {
        return Optional.ofNullable(settings.get(name));
    }
}
