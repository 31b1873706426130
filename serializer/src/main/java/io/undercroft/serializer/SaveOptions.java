package io.undercroft.serializer;

import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Limits;
import io.undercroft.serializer.OptionMap.Option;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.storage.CheckReturnValue;
import io.undercroft.storage.DType;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.stream.Stream;

/// Options for saving a state, in a `.croft` file or in a file of another format. Immutable: a method with an option as
/// its parameter returns a changed copy. The other methods return the options, for implementers of formats and stores.
///
/// A second call of a method replaces the value of the first; only the methods named `base`, [#setting] and [#settings]
/// add values.
///
/// Options that only `.croft` files support (a message, a time, an id, bases, shared bytes, chunks, objects of the
/// program) are refused for other formats.
@CheckReturnValue
public final class SaveOptions {
    private static final Option<String> FORMAT = new Option<>("format");
    private static final Option<Map<String, String>> SETTINGS = new Option<>("settings", Map.of());
    private static final Option<Map<String, String>> METADATA = new Option<>("metadata", Map.of());
    private static final Option<Run> RUN = new Option<>("run");
    private static final Option<String> MESSAGE = new Option<>("message", "");
    private static final Option<Instant> TIME = new Option<>("time");
    private static final Option<UUID> ID = new Option<>("uuid");
    private static final Option<Sharing> SHARING = new Option<>("sharing", Sharing.CONTENT);
    private static final Option<List<Base>> BASES = new Option<>("base", List.of());
    private static final Option<Path> ROOT = new Option<>("root");
    private static final Option<Boolean> WHOLE_STORAGES = new Option<>("wholeStorages", false);
    private static final Option<Boolean> WRITABLE_IN_PLACE = new Option<>("writableInPlace", false);
    private static final Option<Long> CHUNK_SIZE = new Option<>("chunkSize", 1L << FileLayout.DEFAULT_CHUNK_LOG2);
    private static final Option<StateClasses> CLASSES = new Option<>("classes", StateClasses.of());
    private static final Option<ProgressListener> PROGRESS = new Option<>("progress");
    private static final Option<StagingMemory> STAGING_MEMORY = new Option<>("stagingMemory");
    private static final Option<Boolean> REPLACING_REFERENCED = new Option<>("replacingReferenced", false);
    private static final Option<Boolean> REPLACING_SOURCE = new Option<>("replacingSource", false);
    private static final Option<Boolean> DELETING_FORMER_FILES = new Option<>("deletingFormerFiles", false);
    private static final Option<Boolean> UNFORCED = new Option<>("unforced", false);
    private static final Option<Boolean> LEAVING_OUT_UNREADABLE = new Option<>("leavingOutUnreadable", false);
    private static final Option<OptionalLong> LARGEST = new Option<>("largest", OptionalLong.empty());
    private static final Option<DType> DTYPE = new Option<>("dtype");
    private static final Option<Compression> COMPRESSION = new Option<>("compress", Compression.NONE);

    private static final SaveOptions DEFAULTS = new SaveOptions(OptionMap.EMPTY);

    private final OptionMap values;

    /// The choice of storages that may share bytes of a file.
    public enum Sharing {
        /// Storages do not share bytes in the file.
        IDENTITY,
        /// Storages and chunks of equal bytes share them, also with those that the file or a base already has; each
        /// match is confirmed by comparing the bytes. They are still separate storages when they are opened.
        CONTENT
    }

    /// The choice of chunks that are stored in fewer bytes. Compressed chunks are decoded when they are read, and are
    /// not mapped.
    public enum Compression {
        /// None: all bytes are stored as they are, and can be mapped.
        NONE,
        /// Chunks are compressed by themselves. Random weights of bfloat16 then take about 0.7 of their size.
        ALONE,
        /// Chunks of a tensor that a [base][SaveOptions#base(Path)] or the snapshot before has under the same name,
        /// with the same dtype and size, are stored as their difference from it, if it is stored there as it is; others
        /// are compressed by themselves. The less a tensor differs, the fewer bytes it takes. With [Sharing#IDENTITY]
        /// and in shared memory, nothing is stored as a difference.
        AGAINST_BASE
    }

    /// A run, of which each writer makes a shard.
    ///
    /// @param id its id
    /// @param shards the number of shards
    public record Run(String id, int shards) {}

    /// A file whose bytes are referenced.
    ///
    /// @param file the file
    /// @param opening options of which the format and its settings are used to open it
    public record Base(Path file, OpenOptions opening) {
        /// @throws NullPointerException if something is null
        public Base {
            Objects.requireNonNull(file, "file");
            Objects.requireNonNull(opening, "opening");
        }
    }

    private SaveOptions(OptionMap values) {
        this.values = values;
    }

    private <T> SaveOptions with(Option<T> option, T value) {
        return new SaveOptions(values.with(option, value));
    }

    /// {@return the default options: the format of the suffix of the file, otherwise `.croft`; no metadata, message or
    /// time; equal bytes are shared; only bytes that tensors reach are saved; chunks of 1 MiB} With them, equal states
    /// give equal files.
    public static SaveOptions defaults() {
        return DEFAULTS;
    }

    /// Chooses the format, regardless of the suffix of the file.
    ///
    /// @param format the name of a format, for instance `croft` or `safetensors`; see [Checkpoint#format]
    /// @return the changed options
    public SaveOptions format(String format) {
        return with(FORMAT, format);
    }

    /// Sets an option of the format or the store. If the [format][CheckpointFormat#settings] that is written does not
    /// have it, the save fails.
    ///
    /// @param name the name of the format, a dot, and a name, for instance `torch7.encoding`
    /// @param value the value, for instance `ascii`; the format documents it
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
        Map<String, String> more = new HashMap<>(settings());
        more.putAll(settings);
        return with(SETTINGS, Map.copyOf(more));
    }

    /// Sets free-form text about the snapshot or the file. A format without metadata omits it. A state does not have
    /// the metadata of the file that it was opened from: pass [Checkpoint#metadata] to keep them.
    ///
    /// @param text values by key, without nulls; the order is kept
    /// @return the changed options
    public SaveOptions metadata(Map<String, String> text) {
        text.forEach((key, value) -> {
            Objects.requireNonNull(key, "a key of the metadata is null");
            Objects.requireNonNull(value, () -> "the metadata of " + key + " is null");
        });
        Map<String, String> ordered = Collections.unmodifiableMap(new LinkedHashMap<>(text));
        return with(METADATA, ordered);
    }

    /// Sets the run that the file is a shard of. All shards of a [ShardSet] must be of one run, so that a set has no
    /// shards of another job or of an earlier step.
    ///
    /// @param id a text that identifies the checkpoint for all of its writers, for instance the id of the job and the
    ///     number of the step; at most 4096 bytes in UTF-8
    /// @param shards the number of shards of the run; a set of fewer or more is not saved
    /// @return the changed options
    /// @throws IllegalArgumentException if the id is longer or has an unpaired surrogate, or the number of shards is
    ///     less than 1
    public SaveOptions run(String id, int shards) {
        Objects.requireNonNull(id, "id");
        if (shards < 1 || shards > Limits.DEFAULT.maxShards()) {
            throw new IllegalArgumentException("a run of " + shards + " shards; a set has 1 to "
                    + Limits.DEFAULT.maxShards());
        }
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(id)
                || id.getBytes(StandardCharsets.UTF_8).length > Limits.DEFAULT.maxNameBytes()) {
            throw new IllegalArgumentException("the id of the run is longer than " + Limits.DEFAULT.maxNameBytes()
                    + " bytes, or has half of a surrogate pair, which is no text");
        }
        return with(RUN, new Run(id, shards));
    }

    /// Sets a message about the snapshot for the list of snapshots.
    ///
    /// @param text at most 508 bytes in UTF-8
    /// @return the changed options
    /// @throws IllegalArgumentException if it is longer, or has an unpaired surrogate
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
        return with(MESSAGE, text);
    }

    /// Sets the time of the snapshot, to the millisecond. By default, it has none, so that equal states give equal
    /// files.
    ///
    /// @param when for instance [Instant#now]
    /// @return the changed options
    /// @throws IllegalArgumentException if its milliseconds do not fit 64 bits
    public SaveOptions time(Instant when) {
        if (when.isBefore(Instant.ofEpochMilli(Long.MIN_VALUE)) || when.isAfter(Instant.ofEpochMilli(Long.MAX_VALUE))) {
            throw new IllegalArgumentException(when + " is too far away; say nothing, or another time");
        }
        return with(TIME, when);
    }

    /// Sets the id of a new file. By default it is computed from the contents. A file that is appended to keeps its id.
    ///
    /// @param uuid an id that no other file has
    /// @return the changed options
    public SaveOptions uuid(UUID uuid) {
        return with(ID, uuid);
    }

    /// Chooses which storages may share bytes.
    ///
    /// @param sharing the storages that may share bytes
    /// @return the changed options
    public SaveOptions sharing(Sharing sharing) {
        return with(SHARING, sharing);
    }

    /// Adds a base: a file whose bytes are referenced instead of written again. It is a `.croft` file, or a file of
    /// another format that stores tensors uncompressed. To open the new file, the base is needed too. It is found by
    /// its path below the root, and must not be changed; snapshots may be appended to a `.croft` file.
    ///
    /// @param file the base, or the index or the directory of a set whose files are bases; bases that were added
    ///     earlier are preferred
    /// @return the changed options
    public SaveOptions base(Path file) {
        return base(file, OpenOptions.defaults());
    }

    /// Adds a base, as [#base(Path)], with options to open it. The new file records the offsets of the bytes in the
    /// base, so that the format of the base is not needed to open it.
    ///
    /// @param file the base; bases that were added earlier are preferred
    /// @param opening as for [Checkpoint#open(Path, OpenOptions)]; only the format and its settings are used
    /// @return the changed options
    public SaveOptions base(Path file, OpenOptions opening) {
        Base base = new Base(file, opening);
        return with(BASES, Stream.concat(bases().stream(), Stream.of(base)).toList());
    }

    /// Sets the directory that paths of bases are relative to: by default, the directory of the file. To open the file,
    /// set the same directory, or another directory with the bases at the same relative paths.
    ///
    /// For a file in a store there is no default. Its bases are files of this host whose copies are, or will be, in the
    /// store, at the same paths relative to the directory of the file as the bases have relative to this directory.
    /// `.croft` bases are found there when the file is opened.
    ///
    /// @param root a directory that has the bases, possibly in subdirectories
    /// @return the changed options
    public SaveOptions root(Path root) {
        return with(ROOT, root);
    }

    /// Allows a save to replace a file that has bytes of other files: a base of a `.croft` file, an adopted file, or a
    /// file of a set. By default, the save throws a [ReferencedFileException] if this process has such another file
    /// open, or the state was opened from it. The other file loses the bytes that differ in the new file.
    ///
    /// @return the changed options
    public SaveOptions replacingReferenced() {
        return with(REPLACING_REFERENCED, true);
    }

    /// Allows a save to replace the file, or the index of the set, that the state was opened from. By default, the save
    /// throws a [SourceFileException], as parts of the file that are not in the state would be lost.
    ///
    /// The new file is complete and durable before it is renamed, so that a crash leaves the former or the new file.
    /// Storages of the state keep the bytes of the former file.
    ///
    /// @return the changed options
    public SaveOptions replacingSource() {
        return with(REPLACING_SOURCE, true);
    }

    /// Deletes the files of a [set][CheckpointFormat.Capability#SEVERAL_FILES] or of a [ShardSet] whose index is
    /// replaced, after the new file or set is durable. Only files in the directory of the index are deleted. Symbolic
    /// links and files that an open checkpoint of this process references are kept, unless it is the set that is
    /// replaced: shards of that which were not opened yet are gone. All are kept if the save has
    /// [bases][#base(Path)]. By default, all are kept; the [report][SaveReport#leftBehind()] lists them. Other `.croft`
    /// files that reference them are not searched for, and lose the bytes.
    ///
    /// @return the changed options
    public SaveOptions deletingFormerFiles() {
        return with(DELETING_FORMER_FILES, true);
    }

    /// Does not wait until the bytes are on the disk. The file still gets its name in one step, so that others, and
    /// this program after it was killed, see the former file or the new one. By default, the same holds after a power
    /// cut; with this option, that may leave a file that is damaged or empty, and the former one is gone. A `.croft`
    /// file says so when it is opened or verified, and files of other formats may not.
    ///
    /// For files that can be made again, and file systems in memory. A commit to a [CroftFile] and the index of a
    /// [ShardSet] are durable regardless; saves to stores refuse the option.
    ///
    /// @return the changed options
    public SaveOptions unforced() {
        return with(UNFORCED, true);
    }

    /// Saves a state without the tensors that could not be read from the file that it was opened from:
    /// [Checkpoint#tensor] throws for them, and [Checkpoint#damages] lists them. By default, the save of such a state
    /// fails.
    ///
    /// Maps then lack the entries of such tensors, and lists have null. A parameter, a quantized tensor or a sparse
    /// tensor with an unreadable component is left out. The [report][SaveReport#losses] has the names and the reasons.
    ///
    /// @return the changed options
    public SaveOptions leavingOutUnreadable() {
        return with(LEAVING_OUT_UNREADABLE, true);
    }

    /// Saves floating-point numbers as another dtype, as `torch.nn.Module.to(dtype)` converts a module, and decodes
    /// [blocks][DType#blocks] of quantized numbers to it. Tensors of other dtypes are saved as they are. Works for
    /// every format. By default, nothing is converted.
    ///
    /// Each storage is converted as a whole while it is written, in memory of the size that it then has; tensors that
    /// share a storage still share it. A save fails if tensors of other dtypes are on such a storage, or if the state
    /// has a [quantized tensor][io.undercroft.storage.QuantizedTensor] of PyTorch. Nothing is quantized.
    ///
    /// @param dtype a floating-point type, for instance [DType#FLOAT32]
    /// @return the changed options
    /// @throws IllegalArgumentException if it is another type
    public SaveOptions dtype(DType dtype) {
        if (dtype.kind() != DType.Kind.FLOATING) {
            throw new IllegalArgumentException("numbers are saved as a floating-point type, not as " + dtype);
        }
        return with(DTYPE, dtype);
    }

    /// Chooses which chunks are compressed. A chunk that the file or a base has already is shared and not stored again,
    /// and a chunk that compressing makes hardly smaller is stored as it is. By default, nothing is compressed.
    ///
    /// A tensor on compressed chunks is decoded into memory when its bytes are first used, by all processors, and
    /// compared with its checksums; [Checkpoint#rows] and other reads of parts decode only the chunks that they need.
    /// Chunks are compressed with zstd, after their bytes are put in the order of their significance. The same state
    /// gives the same bytes with the same version of zstd.
    ///
    /// @param compression the chunks that are compressed
    /// @return the changed options
    public SaveOptions compress(Compression compression) {
        Objects.requireNonNull(compression, "compression");
        return with(COMPRESSION, compression);
    }

    /// Sets the maximum number of bytes of elements, or of storages without the zeros that a `.croft` file does not
    /// store, that a save may write. A larger state is refused before the first byte is written. A small untrusted file
    /// can have tensors that repeat one element, storages of zeros, and many storages of the same bytes.
    ///
    /// By default, the maximum is 256 MiB and 64 times the bytes of the storages of the state for formats without
    /// strides; for a `.croft` file there is none. The command `croft` sets 256 MiB and 64 times the bytes that its
    /// source stores.
    ///
    /// @param nbytes the maximum number of bytes; [Long#MAX_VALUE] for no limit
    /// @return the changed options
    /// @throws IllegalArgumentException if it is negative
    public SaveOptions largest(long nbytes) {
        if (nbytes < 0) {
            throw new IllegalArgumentException("a limit of " + nbytes + " bytes");
        }
        return with(LARGEST, OptionalLong.of(nbytes));
    }

    /// Saves all bytes of all storages. By default, chunks that no tensor of the state reaches are saved as zeros,
    /// which take no space.
    ///
    /// @return the changed options
    public SaveOptions wholeStorages() {
        return with(WHOLE_STORAGES, true);
    }

    /// Writes all bytes of every storage, including zeros, and shares none between storages, as a shared mapping
    /// requires ([OpenOptions#mapping]). This overrides [#sharing(Sharing)] and [#compress(Compression)].
    ///
    /// @return the changed options
    public SaveOptions writableInPlace() {
        return with(WRITABLE_IN_PLACE, true);
    }

    /// Sets the size of chunks, the unit of checksums and of sharing, in a new file. An existing file keeps its chunk
    /// size. A save allocates a buffer of one chunk if it is larger than 8 MiB.
    ///
    /// @param bytes a power of two from 64 KiB to 1 GiB
    /// @return the changed options
    /// @throws IllegalArgumentException if the size is not such a number
    public SaveOptions chunkSize(long bytes) {
        if (Long.bitCount(bytes) != 1 || bytes < 1 << 16 || bytes > 1 << 30) {
            throw new IllegalArgumentException("a chunk cannot have " + bytes
                    + " bytes; take a power of two from " + (1 << 16) + " to " + (1 << 30));
        }
        return with(CHUNK_SIZE, bytes);
    }

    /// Sets the classes of the program whose objects may be in the state. By default, there are none.
    ///
    /// @param classes records, enums and other classes
    /// @return the changed options
    public SaveOptions classes(StateClasses classes) {
        return with(CLASSES, classes);
    }

    /// Sets the memory that [Checkpoint#saveAsync] copies a state to, which is reused by later saves. By default, each
    /// save allocates and frees its memory.
    ///
    /// @param stagingMemory the memory, which the caller closes after the last save
    /// @return the changed options
    public SaveOptions stagingMemory(StagingMemory stagingMemory) {
        return with(STAGING_MEMORY, stagingMemory);
    }

    /// Sets a listener for the progress of a save. It counts the bytes of the file, or of all files of a set.
    ///
    /// @param progress the listener
    /// @return the changed options
    public SaveOptions progress(ProgressListener progress) {
        return with(PROGRESS, progress);
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

    /// {@return values of settings of the format and of the store, by name}
    public Map<String, String> settings() {
        return values.get(SETTINGS);
    }

    /// {@return free-form text about the snapshot or the file, by key}
    public Map<String, String> metadata() {
        return values.get(METADATA);
    }

    /// {@return the run that the file is a shard of, if it was set}
    public Optional<Run> run() {
        return values.find(RUN);
    }

    /// {@return the message of the snapshot, which may be empty}
    public String message() {
        return values.get(MESSAGE);
    }

    /// {@return the time of the snapshot, if it was set}
    public Optional<Instant> time() {
        return values.find(TIME);
    }

    /// {@return the id of a new file, if it was set}
    public Optional<UUID> uuid() {
        return values.find(ID);
    }

    /// {@return which storages may share bytes}
    public Sharing sharing() {
        return savesZeros() ? Sharing.IDENTITY : values.get(SHARING);
    }

    /// {@return the files whose bytes are referenced}
    public List<Base> bases() {
        return values.get(BASES);
    }

    /// {@return the directory that paths of bases are relative to, or empty for that of the file}
    public Optional<Path> root() {
        return values.find(ROOT);
    }

    /// {@return whether a file that has bytes of other files may be replaced}
    public boolean isReplacingReferenced() {
        return values.get(REPLACING_REFERENCED);
    }

    /// {@return whether the file that the state was opened from may be replaced}
    public boolean isReplacingSource() {
        return values.get(REPLACING_SOURCE);
    }

    /// {@return whether the files of a replaced set are deleted}
    public boolean isDeletingFormerFiles() {
        return values.get(DELETING_FORMER_FILES);
    }

    /// {@return whether a state is saved without the tensors that cannot be read}
    public boolean isLeavingOutUnreadable() {
        return values.get(LEAVING_OUT_UNREADABLE);
    }

    /// {@return the dtype that floating-point numbers and blocks are converted to, if it was set}
    public Optional<DType> dtype() {
        return values.find(DTYPE);
    }

    /// {@return which chunks are compressed}
    public Compression compression() {
        return savesZeros() ? Compression.NONE : values.get(COMPRESSION);
    }

    /// {@return the maximum number of bytes of elements or storages to write; empty for the default}
    public OptionalLong largest() {
        return values.get(LARGEST);
    }

    /// {@return whether a save waits until the bytes are on the disk}
    public boolean isForced() {
        return !values.get(UNFORCED);
    }

    /// {@return whether all bytes of all storages are saved}
    public boolean savesWholeStorages() {
        return savesZeros() || values.get(WHOLE_STORAGES);
    }

    /// {@return whether chunks of zeros are written}
    public boolean savesZeros() {
        return values.get(WRITABLE_IN_PLACE);
    }

    /// {@return whether chunks of zeros of a storage are not written}
    ///
    /// @param nbytes the size of the storage in bytes
    public boolean omitsZeros(long nbytes) {
        return !savesZeros() && nbytes >= FileLayout.SPARSE_BYTES;
    }

    /// {@return the size of chunks in a new file, in bytes}
    public long chunkSize() {
        return values.get(CHUNK_SIZE);
    }

    /// {@return the classes of the program whose objects may be in the state}
    public StateClasses classes() {
        return values.get(CLASSES);
    }

    /// {@return the memory that background saves copy a state to, if it was set}
    public Optional<StagingMemory> stagingMemory() {
        return values.find(STAGING_MEMORY);
    }

    /// {@return the listener for the progress of the save}
    public ProgressListener progress() {
        return values.find(PROGRESS).orElse((_, _) -> {});
    }

    /// Refuses options that only a `.croft` file can follow.
    void requireForeign(String file, String format) {
        List<String> own = values.changed(MESSAGE, RUN, TIME, ID, SHARING, BASES, ROOT, WHOLE_STORAGES,
                WRITABLE_IN_PLACE, CHUNK_SIZE, CLASSES, COMPRESSION);
        if (!own.isEmpty()) {
            throw new IllegalArgumentException(file + ": a file of " + format + " cannot follow SaveOptions."
                    + String.join(", ", own) + "; only a .croft file can. Leave it out, or save a .croft"
                    + " file");
        }
    }

    /// Refuses options that only files of this host can follow.
    ///
    /// @param location the file in a store
    void requireForStore(String location) {
        List<String> own = values.changed(WRITABLE_IN_PLACE, DELETING_FORMER_FILES, UNFORCED);
        if (!own.isEmpty()) {
            throw new IllegalArgumentException(location + ": a file in a store cannot follow SaveOptions."
                    + String.join(", ", own) + "; only a file of this host can. Leave it out, or save to a "
                    + "path");
        }
        if (!bases().isEmpty() && root().isEmpty()) {
            throw new IllegalArgumentException(location + ": a file in a store has no directory of this host that the "
                    + "bases could be relative to. Copy the bases to the store too, and set SaveOptions.root to the "
                    + "directory of this host that stands for that of the file");
        }
    }
}
