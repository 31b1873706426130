package io.undercroft.serializer;

import io.undercroft.format.CommitRecord;
import io.undercroft.format.Layout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/// How a state is saved. Immutable: each method with a parameter returns a changed copy.
public final class SaveOptions {
    private static final SaveOptions DEFAULTS = new SaveOptions(Map.of(), new Stamp("", null, null),
            new Dedup(Sharing.CONTENT, List.of(), null, false), Extent.REACHED, Layout.DEFAULT_CHUNK_LOG2,
            StateClasses.of(), (_, _) -> {});

    private final Map<String, String> metadata;
    private final Stamp stamp;
    private final Dedup dedup;
    private final Extent extent;
    private final int chunkLog2;
    private final StateClasses classes;
    private final SaveProgress progress;

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

    /// What is said about a commit.
    private record Stamp(String message, @Nullable Instant time, @Nullable UUID uuid) {}

    private record Dedup(Sharing sharing, List<Base> bases, @Nullable Path root, boolean replacing) {}

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

    private SaveOptions(Map<String, String> metadata, Stamp stamp, Dedup dedup, Extent extent, int chunkLog2,
            StateClasses classes, SaveProgress progress) {
        this.metadata = metadata;
        this.stamp = stamp;
        this.dedup = dedup;
        this.extent = extent;
        this.chunkLog2 = chunkLog2;
        this.classes = classes;
        this.progress = progress;
    }

    /// {@return no metadata, message or time; bytes shared by content; only what tensors reach; chunks of 1 MiB.
    /// Durable, atomic and canonical: the same state gives the same bytes}
    public static SaveOptions defaults() {
        return DEFAULTS;
    }

    /// Adds free-form text about the snapshot.
    ///
    /// @param text replaces what was set before; without nulls, kept in its order
    /// @return the changed options
    public SaveOptions metadata(Map<String, String> text) {
        text.forEach((key, value) -> {
            Objects.requireNonNull(key, "a key of the metadata is null");
            Objects.requireNonNull(value, () -> "the metadata of " + key + " is null");
        });
        return new SaveOptions(Collections.unmodifiableMap(new LinkedHashMap<>(text)), stamp, dedup, extent,
                chunkLog2, classes, progress);
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
                    "the message is longer than " + CommitRecord.MAX_MESSAGE_BYTES + " bytes; metadata has room");
        }
        return new SaveOptions(metadata, new Stamp(text, stamp.time, stamp.uuid), dedup, extent, chunkLog2, classes,
                progress);
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
        return new SaveOptions(metadata, new Stamp(stamp.message, when, stamp.uuid), dedup, extent, chunkLog2,
                classes, progress);
    }

    /// Gives a new file its id. By default it is made of what the file holds. A file that is appended to keeps its own.
    ///
    /// @param id one that no other file has
    /// @return the changed options
    public SaveOptions uuid(UUID id) {
        Objects.requireNonNull(id, "id");
        return new SaveOptions(metadata, new Stamp(stamp.message, stamp.time, id), dedup, extent, chunkLog2, classes,
                progress);
    }

    /// Chooses which storages may share bytes.
    ///
    /// @param which whether equal bytes stand in the file once
    /// @return the changed options
    public SaveOptions sharing(Sharing which) {
        Objects.requireNonNull(which, "which");
        return new SaveOptions(metadata, stamp, new Dedup(which, dedup.bases, dedup.root, dedup.replacing), extent,
                chunkLog2, classes, progress);
    }

    /// Names a file whose bytes are not written again, but referred to: a `.croft` file, or one of another format whose
    /// tensors stand in it as they are. Who opens the new file needs that one too. It is
    /// found by its path below the root, and must not change from then on; a `.croft` file may be appended to.
    ///
    /// @param file the base, or the index of a set, whose files are bases then; those named earlier are preferred
    /// @return the changed options
    public SaveOptions base(Path file) {
        return base(file, OpenOptions.defaults());
    }

    /// Names a file whose bytes are not written again, as [#base(Path)], and which does not say itself how it is to be
    /// read. The new file says at which offsets of the base its bytes stand, so that who opens it needs to know nothing
    /// of the base's format.
    ///
    /// @param file the base; those named earlier are preferred
    /// @param opening as for [Checkpoint#open(Path, OpenOptions)]; of this only the format and its settings count
    /// @return the changed options
    public SaveOptions base(Path file, OpenOptions opening) {
        List<Base> bases = new ArrayList<>(dedup.bases);
        bases.add(new Base(file, opening));
        return new SaveOptions(metadata, stamp, new Dedup(dedup.sharing, List.copyOf(bases), dedup.root,
                dedup.replacing), extent,
                chunkLog2, classes, progress);
    }

    /// Sets the directory that paths of bases start from: by default that of the file itself. Who opens the file names
    /// the same directory, or another one that has the bases in the same places.
    ///
    /// @param directory a directory in which, or below which, the bases are
    /// @return the changed options
    public SaveOptions root(Path directory) {
        Objects.requireNonNull(directory, "directory");
        return new SaveOptions(metadata, stamp, new Dedup(dedup.sharing, dedup.bases, directory, dedup.replacing),
                extent, chunkLog2, classes, progress);
    }

    /// Allows a file to be replaced in which bytes of other files are stored: a base of a `.croft` file, an adopted
    /// file, or a file of a set. By default that is refused with [ReferencedFileException] if this process has such
    /// another file open, or has opened or saved one before that is still there. The bytes of the other file are lost,
    /// unless they are the same in the new one.
    ///
    /// @return the changed options
    public SaveOptions replacingReferenced() {
        return new SaveOptions(metadata, stamp, new Dedup(dedup.sharing, dedup.bases, dedup.root, true), extent,
                chunkLog2,
                classes, progress);
    }

    /// Saves all bytes of all storages. By default a chunk of a storage that no tensor of the state reaches is saved as
    /// zeros, which take no room.
    ///
    /// @return the changed options
    public SaveOptions wholeStorages() {
        return new SaveOptions(metadata, stamp, dedup, savesZeros() ? extent : Extent.WHOLE, chunkLog2, classes,
                progress);
    }

    /// Gives every storage all of its bytes in the file, zeros too, and shares none of them with another, as a file
    /// wants it that is to be mapped so that writes reach it: [OpenOptions#mapping]. It is larger, and otherwise like
    /// any other. This goes before what [#sharing(Sharing)] says.
    ///
    /// @return the changed options
    public SaveOptions writableInPlace() {
        return new SaveOptions(metadata, stamp, dedup, Extent.WITH_ZEROS, chunkLog2, classes, progress);
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
        return new SaveOptions(metadata, stamp, dedup, extent, Long.numberOfTrailingZeros(bytes), classes, progress);
    }

    /// Says of which classes of the program objects may stand in the state. By default of none.
    ///
    /// @param known records, enums and other classes
    /// @return the changed options
    public SaveOptions classes(StateClasses known) {
        return new SaveOptions(metadata, stamp, dedup, extent, chunkLog2, Objects.requireNonNull(known, "known"),
                progress);
    }

    /// Names somebody to be told how far writing has come.
    ///
    /// @param listener who is told
    /// @return the changed options
    public SaveOptions progress(SaveProgress listener) {
        return new SaveOptions(metadata, stamp, dedup, extent, chunkLog2, classes,
                Objects.requireNonNull(listener, "listener"));
    }

    /// {@return free-form text about the snapshot}
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
        return dedup.replacing;
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

    /// {@return of which classes of the program objects may stand in the state}
    public StateClasses classes() {
        return classes;
    }

    /// {@return who is told how far writing has come; somebody who does not listen if nobody was named}
    public SaveProgress progress() {
        return progress;
    }
}
