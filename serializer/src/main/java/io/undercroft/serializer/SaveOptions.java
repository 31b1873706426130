package io.undercroft.serializer;

import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.Layout;
import io.undercroft.serializer.spi.CheckpointFormat;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/// How a state is saved, in a `.croft` file or in a file of another format. Immutable: each method with a parameter
/// returns a changed copy.
///
/// What only a `.croft` file has (a message, a time, an id, bases, shared bytes, chunks, objects of the program) is
/// refused when a file of another format is written.
public final class SaveOptions {
    private static final SaveOptions DEFAULTS = new SaveOptions(new Target(null, Map.of(), false, false), Map.of(),
            new Stamp("", null, null), new Dedup(Sharing.CONTENT, List.of(), null), Extent.REACHED,
            Layout.DEFAULT_CHUNK_LOG2, StateClasses.of(), (_, _) -> {}, null);

    private final Target target;
    private final Map<String, String> metadata;
    private final Stamp stamp;
    private final Dedup dedup;
    private final Extent extent;
    private final int chunkLog2;
    private final StateClasses classes;
    private final SaveProgress progress;
    private final @Nullable SnapshotMemory snapshotMemory;

    /// Which storages may share bytes of a file.
    public enum Sharing {
        /// Only what is one storage in memory is one in the file. Every storage then has bytes of its own.
        IDENTITY,
        /// Storages and chunks of equal bytes share them too, with those that the file or a base has already, once the
        /// bytes have been compared. When they are opened, writing to one still does not show in another.
        CONTENT
    }

    private enum Extent {
        REACHED, WHOLE, WITH_ZEROS
    }

    /// The format, its settings, and what may happen to files that exist.
    private record Target(@Nullable String format, Map<String, String> settings, boolean replacesReferenced,
            boolean deletesFormer) {}

    /// What is said about a commit.
    private record Stamp(String message, @Nullable Instant time, @Nullable UUID uuid) {}

    private record Dedup(Sharing sharing, List<Base> bases, @Nullable Path root) {}

    /// A file whose bytes are referred to.
    ///
    /// @param file where it is
    /// @param opening how it is opened; of this only the format and its settings count
    public record Base(Path file, OpenOptions opening) {
        /// @throws NullPointerException if something is null
        public Base {
            Objects.requireNonNull(file, "file");
            Objects.requireNonNull(opening, "opening");
        }
    }

    private SaveOptions(Target target, Map<String, String> metadata, Stamp stamp, Dedup dedup, Extent extent,
            int chunkLog2, StateClasses classes, SaveProgress progress, @Nullable SnapshotMemory snapshotMemory) {
        this.target = target;
        this.metadata = metadata;
        this.stamp = stamp;
        this.dedup = dedup;
        this.extent = extent;
        this.chunkLog2 = chunkLog2;
        this.classes = classes;
        this.progress = progress;
        this.snapshotMemory = snapshotMemory;
    }

    /// {@return the format that the name of the file ends in, `.croft` if it ends in none; no metadata, message or
    /// time; bytes shared by content; only what tensors reach; chunks of 1 MiB. Durable, atomic and canonical: the same
    /// state gives the same bytes}
    public static SaveOptions defaults() {
        return DEFAULTS;
    }

    /// Chooses the format, whatever the name of the file ends in.
    ///
    /// @param name the name of a format, for instance `croft` or `safetensors`; see [Checkpoint#format]
    /// @return the changed options
    public SaveOptions format(String name) {
        return to(new Target(Objects.requireNonNull(name, "name"), target.settings, target.replacesReferenced,
                target.deletesFormer));
    }

    /// Sets how a format writes. A name that is no [setting][CheckpointFormat#settings] of the format that is written
    /// is refused when a state is saved.
    ///
    /// @param name the name of the format, a dot, and a name, for instance `torch7.encoding`
    /// @param value what the format documents, for instance `ascii`
    /// @return the changed options
    public SaveOptions setting(String name, String value) {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(value, "value");
        return settings(Map.of(name, value));
    }

    /// Sets several settings, as [#setting(String, String)].
    ///
    /// @param settings values by name
    /// @return the changed options
    public SaveOptions settings(Map<String, String> settings) {
        Objects.requireNonNull(settings, "settings");
        Map<String, String> more = new HashMap<>(target.settings);
        more.putAll(settings);
        return to(new Target(target.format, Map.copyOf(more), target.replacesReferenced, target.deletesFormer));
    }

    private SaveOptions to(Target changed) {
        return new SaveOptions(changed, metadata, stamp, dedup, extent, chunkLog2, classes, progress, snapshotMemory);
    }

    /// Adds free-form text about the snapshot or the file. A format that has no place for it leaves it out.
    ///
    /// @param text replaces what was set before; without nulls, kept in its order
    /// @return the changed options
    public SaveOptions metadata(Map<String, String> text) {
        text.forEach((key, value) -> {
            Objects.requireNonNull(key, "a key of the metadata is null");
            Objects.requireNonNull(value, () -> "the metadata of " + key + " is null");
        });
        return new SaveOptions(target, Collections.unmodifiableMap(new LinkedHashMap<>(text)), stamp, dedup, extent,
                chunkLog2, classes, progress, snapshotMemory);
    }

    /// Says something about the snapshot, which is shown in the list of snapshots.
    ///
    /// @param text at most 508 bytes in UTF-8
    /// @return the changed options
    /// @throws IllegalArgumentException if it is longer, or has half of a surrogate pair, for which there is no UTF-8
    public SaveOptions message(String text) {
        Objects.requireNonNull(text, "text");
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(text)) {
            throw new IllegalArgumentException("the message has half of a surrogate pair, which is no text");
        }
        if (text.getBytes(StandardCharsets.UTF_8).length > CommitRecord.MAX_MESSAGE_BYTES) {
            throw new IllegalArgumentException(
                    "the message is longer than " + CommitRecord.MAX_MESSAGE_BYTES
                            + " bytes; put it into the metadata");
        }
        return new SaveOptions(target, metadata, new Stamp(text, stamp.time, stamp.uuid), dedup, extent, chunkLog2,
                classes, progress, snapshotMemory);
    }

    /// Says when the snapshot was made, to the millisecond. By default nothing is said, so that equal states give equal
    /// bytes.
    ///
    /// @param when for instance [Instant#now]
    /// @return the changed options
    /// @throws IllegalArgumentException if it is millions of years away, so that 64 bits cannot hold its milliseconds
    public SaveOptions time(Instant when) {
        if (when.isBefore(Instant.ofEpochMilli(Long.MIN_VALUE)) || when.isAfter(Instant.ofEpochMilli(Long.MAX_VALUE))) {
            throw new IllegalArgumentException(when + " is too far away; say nothing, or another time");
        }
        return new SaveOptions(target, metadata, new Stamp(stamp.message, when, stamp.uuid), dedup, extent, chunkLog2,
                classes, progress, snapshotMemory);
    }

    /// Gives a new file its id. By default it is made of what the file holds. A file that is appended to keeps its own.
    ///
    /// @param id one that no other file has
    /// @return the changed options
    public SaveOptions uuid(UUID id) {
        Objects.requireNonNull(id, "id");
        return new SaveOptions(target, metadata, new Stamp(stamp.message, stamp.time, id), dedup, extent, chunkLog2,
                classes, progress, snapshotMemory);
    }

    /// Chooses which storages may share bytes.
    ///
    /// @param which whether equal bytes are in the file once
    /// @return the changed options
    public SaveOptions sharing(Sharing which) {
        Objects.requireNonNull(which, "which");
        return new SaveOptions(target, metadata, stamp, new Dedup(which, dedup.bases, dedup.root), extent,
                chunkLog2, classes, progress, snapshotMemory);
    }

    /// Names a file whose bytes are not written again, but referred to: a `.croft` file, or one of another format whose
    /// tensors are in it as they are. Who opens the new file needs that one too. It is
    /// found by its path below the root, and must not change from then on; a `.croft` file may be appended to.
    ///
    /// @param file the base, or the index of a set, whose files are bases then; those named earlier are preferred
    /// @return the changed options
    public SaveOptions base(Path file) {
        return base(file, OpenOptions.defaults());
    }

    /// Names a file whose bytes are not written again, as [#base(Path)], and which does not say itself how it is to be
    /// read. The new file says at which offsets of the base its bytes are, so that who opens it needs to know nothing
    /// of the base's format.
    ///
    /// @param file the base; those named earlier are preferred
    /// @param opening as for [Checkpoint#open(Path, OpenOptions)]; of this only the format and its settings count
    /// @return the changed options
    public SaveOptions base(Path file, OpenOptions opening) {
        List<Base> bases = new ArrayList<>(dedup.bases);
        bases.add(new Base(file, opening));
        return new SaveOptions(target, metadata, stamp, new Dedup(dedup.sharing, List.copyOf(bases), dedup.root),
                extent, chunkLog2, classes, progress, snapshotMemory);
    }

    /// Sets the directory that paths of bases start from: by default that of the file itself. Who opens the file names
    /// the same directory, or another one that has the bases in the same places.
    ///
    /// @param directory a directory in which, or below which, the bases are
    /// @return the changed options
    public SaveOptions root(Path directory) {
        Objects.requireNonNull(directory, "directory");
        return new SaveOptions(target, metadata, stamp, new Dedup(dedup.sharing, dedup.bases, directory),
                extent, chunkLog2, classes, progress, snapshotMemory);
    }

    /// Allows a file to be replaced in which bytes of other files are stored: a base of a `.croft` file, an adopted
    /// file, or a file of a set. By default that is refused with [ReferencedFileException] if this process has such
    /// another file open, or has opened or saved one before that is still there. The bytes of the other file are lost,
    /// unless they are the same in the new one.
    ///
    /// @return the changed options
    public SaveOptions replacingReferenced() {
        return to(new Target(target.format, target.settings, true, target.deletesFormer));
    }

    /// Deletes the files of a [set][CheckpointFormat.Capability#SEVERAL_FILES] that is replaced, once the new set is
    /// durable: those that the former index names and that are in its directory. A file that this process knows to be
    /// referenced elsewhere stays, and so does a symbolic link. By default all of them stay; the
    /// [report][SaveReport#leftBehind()] lists them. A `.croft` file that references them and that this process has not
    /// seen is not looked for, and loses its bytes.
    ///
    /// @return the changed options
    public SaveOptions deletingFormerFiles() {
        return to(new Target(target.format, target.settings, target.replacesReferenced, true));
    }

    /// Saves all bytes of all storages. By default a chunk of a storage that no tensor of the state reaches is saved as
    /// zeros, which take no space.
    ///
    /// @return the changed options
    public SaveOptions wholeStorages() {
        return new SaveOptions(target, metadata, stamp, dedup, savesZeros() ? extent : Extent.WHOLE, chunkLog2, classes,
                progress, snapshotMemory);
    }

    /// Gives every storage all of its bytes in the file, zeros too, and shares none of them with another, as a file
    /// wants it that is to be mapped so that writes reach it: [OpenOptions#mapping]. It is larger, and otherwise like
    /// any other. This goes before what [#sharing(Sharing)] says.
    ///
    /// @return the changed options
    public SaveOptions writableInPlace() {
        return new SaveOptions(target, metadata, stamp, dedup, Extent.WITH_ZEROS, chunkLog2, classes, progress,
                snapshotMemory);
    }

    /// Chooses the size of chunks, the unit of checksums and of sharing, in a new file. A file that is appended to
    /// keeps its own.
    ///
    /// @param bytes a power of two from 64 KiB to 1 GiB
    /// @return the changed options
    /// @throws IllegalArgumentException if it is not
    public SaveOptions chunkSize(long bytes) {
        if (Long.bitCount(bytes) != 1 || bytes < 1 << 16 || bytes > 1 << 30) {
            throw new IllegalArgumentException("a chunk cannot have " + bytes
                    + " bytes; take a power of two from " + (1 << 16) + " to " + (1 << 30));
        }
        return new SaveOptions(target, metadata, stamp, dedup, extent, Long.numberOfTrailingZeros(bytes), classes,
                progress, snapshotMemory);
    }

    /// Says of which classes of the program objects may be in the state. By default of none.
    ///
    /// @param known records, enums and other classes
    /// @return the changed options
    public SaveOptions classes(StateClasses known) {
        return new SaveOptions(target, metadata, stamp, dedup, extent, chunkLog2,
                Objects.requireNonNull(known, "known"), progress, snapshotMemory);
    }

    /// Sets the memory that [Checkpoint#saveAsync] copies a state to, so that it is kept from one save to the next. By
    /// default each save takes and releases memory of its own.
    ///
    /// @param memory to be closed by the caller, after the last save
    /// @return the changed options
    public SaveOptions snapshotMemory(SnapshotMemory memory) {
        return new SaveOptions(target, metadata, stamp, dedup, extent, chunkLog2, classes, progress,
                Objects.requireNonNull(memory, "memory"));
    }

    /// Sets a listener that is called as writing proceeds. The bytes that it is given are those of the file, or of all
    /// files of a set.
    ///
    /// @param listener called with the progress
    /// @return the changed options
    public SaveOptions progress(SaveProgress listener) {
        return new SaveOptions(target, metadata, stamp, dedup, extent, chunkLog2, classes,
                Objects.requireNonNull(listener, "listener"), snapshotMemory);
    }

    /// {@return the name of the format, if one was chosen}
    public Optional<String> format() {
        return Optional.ofNullable(target.format);
    }

    /// {@return the value of a setting, if it was set}
    ///
    /// @param name the name of a setting
    public Optional<String> setting(String name) {
        Objects.requireNonNull(name, "name");
        return Optional.ofNullable(target.settings.get(name));
    }

    /// {@return all settings that were set, by name}
    public Map<String, String> settings() {
        return target.settings;
    }

    /// {@return the memory that background saves copy a state to, if it was set}
    public Optional<SnapshotMemory> snapshotMemory() {
        return Optional.ofNullable(snapshotMemory);
    }

    /// {@return whether the files of a set that is replaced are deleted}
    public boolean isDeletingFormerFiles() {
        return target.deletesFormer;
    }

    /// {@return free-form text about the snapshot or the file}
    public Map<String, String> metadata() {
        return metadata;
    }

    /// {@return what is said about the snapshot; may be empty}
    public String message() {
        return stamp.message;
    }

    /// {@return when the snapshot was made, if that is to be said}
    public Optional<Instant> time() {
        return Optional.ofNullable(stamp.time);
    }

    /// {@return the id of a new file, if it was given}
    public Optional<UUID> uuid() {
        return Optional.ofNullable(stamp.uuid);
    }

    /// {@return which storages may share bytes}
    public Sharing sharing() {
        return savesZeros() ? Sharing.IDENTITY : dedup.sharing;
    }

    /// {@return the files whose bytes are referred to}
    public List<Base> bases() {
        return dedup.bases;
    }

    /// {@return whether a file may be replaced in which bytes of other files are stored}
    public boolean isReplacingReferenced() {
        return target.replacesReferenced;
    }

    /// {@return the directory that paths of bases start from, if it is not that of the file itself}
    public Optional<Path> root() {
        return Optional.ofNullable(dedup.root);
    }

    /// {@return whether all bytes of all storages are saved}
    public boolean savesWholeStorages() {
        return extent != Extent.REACHED;
    }

    /// {@return whether zeros are saved as bytes, and not only their number}
    public boolean savesZeros() {
        return extent == Extent.WITH_ZEROS;
    }

    /// {@return the size of chunks in a new file, in bytes}
    public long chunkSize() {
        return 1L << chunkLog2;
    }

    /// {@return of which classes of the program objects may be in the state}
    public StateClasses classes() {
        return classes;
    }

    /// {@return who is told how far writing has come; somebody who does not listen if nobody was named}
    public SaveProgress progress() {
        return progress;
    }

    /// Refuses options that only a `.croft` file can follow.
    void requireForeign(Path path, String format) {
        Map<String, Boolean> own = new LinkedHashMap<>();
        own.put("message", !stamp.message.isEmpty());
        own.put("time", stamp.time != null);
        own.put("uuid", stamp.uuid != null);
        own.put("sharing", dedup.sharing != Sharing.CONTENT);
        own.put("base", !dedup.bases.isEmpty());
        own.put("root", dedup.root != null);
        own.put("wholeStorages", extent == Extent.WHOLE);
        own.put("writableInPlace", extent == Extent.WITH_ZEROS);
        own.put("chunkSize", chunkLog2 != DEFAULTS.chunkLog2);
        own.put("classes", !classes.classes().isEmpty());
        own.values().removeIf(isSet -> !isSet);
        if (!own.isEmpty()) {
            throw new IllegalArgumentException(path + ": a file of " + format + " cannot follow SaveOptions."
                    + String.join(", ", own.keySet()) + "; only a .croft file can. Leave it out, or save a .croft"
                    + " file");
        }
    }
}
