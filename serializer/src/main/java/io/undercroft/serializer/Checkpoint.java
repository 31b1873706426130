package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.format.internal.Shard;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.internal.CroftContents;
import io.undercroft.serializer.internal.CroftFormat;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.ModelDirectory;
import io.undercroft.serializer.internal.References;
import io.undercroft.serializer.internal.Settings;
import io.undercroft.serializer.internal.Stores;
import io.undercroft.serializer.internal.TruncationCheck;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.StoredTarget;
import io.undercroft.serializer.internal.disk.Target;
import io.undercroft.serializer.internal.extents.FileHistory;
import io.undercroft.serializer.internal.graph.ObjectDecoder;
import io.undercroft.serializer.internal.graph.ObjectEncoder;
import io.undercroft.serializer.internal.loading.EagerLoad;
import io.undercroft.serializer.internal.loading.Glob;
import io.undercroft.serializer.internal.loading.InPlaceLoad;
import io.undercroft.serializer.internal.loading.NameLookup;
import io.undercroft.serializer.internal.loading.StateMatch;
import io.undercroft.serializer.internal.loading.ValueConversion;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StatePart;
import io.undercroft.serializer.internal.writing.Save;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.spi.Companion;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.StoreTarget;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.internal.support.Operation.Timing;
import io.undercroft.storage.internal.support.Operation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.SequencedCollection;
import java.util.SequencedMap;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// An open file with a saved state: a tree of values, and its tensors by name. The file may be of any known format.
///
/// ```java
/// try (Checkpoint c = Checkpoint.open(Path.of("model.pt"))) {
///     Tensor embed = c.tensor("transformer.wte.weight");
///     Tensor head = c.tensor("lm_head.weight");
///     assert embed.storage() == head.storage();
/// }
/// Checkpoint.save(Path.of("model.croft"), Map.of("weight", Tensor.zeros(DType.FLOAT32, 2, 3)));
/// ```
///
/// **Laziness.** Opening reads what describes the tensors, not their elements; a storage is mapped when it is first
/// touched. In a `.croft` file the description of a tensor, too, is read and checked when the tensor is first
/// requested. So any method may throw a [FormatException] for the damaged part, and the others continue to work.
///
/// **Sharing.** Tensors that shared a storage when they were saved share one again. By default storages are mapped
/// copy-on-write: writes are visible in every tensor on the storage, and never reach the file.
///
/// **Lifetime.** Closing a checkpoint releases its storages; a retained storage ([Storage#retain]) and its mapping stay
/// usable until it is released too. Using any other throws [IllegalStateException]. So does using a retained one whose
/// bytes were first read when the checkpoint was closed, and turned out to be damaged. A closed checkpoint still has
/// its [#path], [#files], [#format] and [#damages]; all other methods throw [IllegalStateException].
///
/// **Threads.** All methods may be called from several threads at once.
public final class Checkpoint implements AutoCloseable {
    /// How many values of a state are compared with a path for a message.
    private static final int MOST_COMPARED = 10_000;

    private final String format;
    private final MappedFile file;
    private final Contents contents;
    private final OpenOptions options;
    private @Nullable DecodedState decoded;
    private final Queue<Scrub> scrubs = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean closed = new AtomicBoolean();
    private final boolean isWithoutChecksums;
    private volatile @Nullable NameLookup lookup;

    /// The state with the objects of the program. (A record, since the state itself may be null.)
    private record DecodedState(@Nullable Object state) {}

    private Checkpoint(CheckpointFormat format, MappedFile file, Contents contents, OpenOptions options) {
        this.format = format.name();
        this.isWithoutChecksums = !format.capabilities().contains(Capability.CHECKSUMS)
                && !format.capabilities().contains(Capability.SEVERAL_FILES);
        this.file = file;
        this.contents = contents;
        this.options = options;
        List<Companion> companions = contents.companions();
        if (!companions.isEmpty()) {
            References.openSetOf(file, companions, options);
        }
    }

    /// Opens a file copy-on-write. Its format is found by its contents, not by its name.
    ///
    /// @param path the file, or the directory of a model; see [#open(Path, OpenOptions)]
    /// @return the open checkpoint
    /// @throws IOException if the file is missing or not readable, or a directory that has no such file or several
    /// @throws FormatException if its format is unknown, or its contents are damaged, hostile or unsupported
    public static Checkpoint open(Path path) throws IOException {
        return open(path, OpenOptions.defaults());
    }

    /// Opens a file. If the path is a directory, opens the model in it: `model.safetensors`, `pytorch_model.bin` or the
    /// index of a set of them, as model hubs name them, or else the only index or the only file with the suffix of a
    /// known format.
    ///
    /// @param path the file, or the directory of a model
    /// @param options the options for opening
    /// @return the open checkpoint
    /// @throws IOException if the file is missing or not readable, or a directory that has no such file or several
    /// @throws FormatException if its format is unknown, or its contents are damaged, hostile or unsupported
    /// @throws IllegalArgumentException if the options name an unknown format, a [setting][CheckpointFormat#settings]
    ///     that no known format has for opening, or an invalid value of one
    /// @throws NoSuchElementException if the options name a snapshot that the file does not have, or a pattern that
    ///     matches no name of a tensor
    public static Checkpoint open(Path path, OpenOptions options) throws IOException {
        Objects.requireNonNull(path, "path");
        Objects.requireNonNull(options, "options");
        // The search in directories is not loaded for files.
        Path file = Files.isDirectory(path) ? ModelDirectory.fileIn(path) : path;
        return open(MappedFile.open(file, options.mapping()), null, options);
    }

    /// Opens a file in a store, such as one on a web server, copy-on-write; see [#open(URI, OpenOptions)].
    ///
    /// @param uri where the file is
    /// @return the open checkpoint
    /// @throws IOException if the file is missing or not readable
    /// @throws FormatException if its format is unknown, or its contents are damaged, hostile or unsupported
    public static Checkpoint open(URI uri) throws IOException {
        return open(uri, OpenOptions.defaults());
    }

    /// Opens a file in a store, such as one on a web server. The schemes depend on the modules on the class path:
    /// undercroft-http opens `https` URIs. A `file` URI is opened as its path.
    ///
    /// Opening fetches what describes the tensors; the bytes of a storage are fetched when it is first touched, and
    /// stay in a [temporary file][OpenOptions#temporaryDirectory] until the checkpoint is closed. The first touch may
    /// throw a [MappingException][io.undercroft.mmap.MappingException] with the cause, a [RemoteFileException], for
    /// instance because the file was replaced in the store; the next touch tries again. An index of several files opens
    /// those next to it, and a `.croft` file its bases below the directory that it is in.
    ///
    /// @param uri where the file is
    /// @param options the options for opening
    /// @return the open checkpoint
    /// @throws RemoteFileException if nothing opens such a URI, the file is not there, or the store refuses or does not
    ///     respond
    /// @throws IOException if the file is not readable
    /// @throws FormatException if its format is unknown, or its contents are damaged, hostile or unsupported
    /// @throws IllegalArgumentException if the URI has no scheme or is invalid, or for options as
    ///     [#open(Path, OpenOptions)], or if they map it shared
    /// @throws NoSuchElementException as [#open(Path, OpenOptions)]
    public static Checkpoint open(URI uri, OpenOptions options) throws IOException {
        Objects.requireNonNull(options, "options");
        requireScheme(uri);
        if (uri.getScheme().equalsIgnoreCase("file")) {
            return open(Path.of(uri), options);
        }
        Settings.check(options);
        return open(Stores.open(uri, options), null, options);
    }

    /// Opens an object of a store from a source that the program made, as [#open(URI, OpenOptions)].
    ///
    /// @param source the object, which then belongs to the checkpoint; it is closed if opening fails
    /// @param options the options for opening
    /// @return the open checkpoint
    /// @throws RemoteFileException if the store refuses or does not respond
    /// @throws IOException if the file is not readable
    /// @throws FormatException if its format is unknown, or its contents are damaged, hostile or unsupported
    /// @throws IllegalArgumentException for options as [#open(Path, OpenOptions)], or if they map it shared
    /// @throws NoSuchElementException as [#open(Path, OpenOptions)]
    public static Checkpoint open(RangeSource source, OpenOptions options) throws IOException {
        Objects.requireNonNull(source, "source");
        Objects.requireNonNull(options, "options");
        return open(Stores.open(source, options), null, options);
    }

    /// Opens a file of a set, which then belongs to the checkpoint. It is closed if opening fails.
    static Checkpoint openShard(MappedFile file, Shard shard, OpenOptions options) throws IOException {
        return opened(file, shard, null, options);
    }

    /// Finds the format of a file.
    @FunctionalInterface
    interface Sniffing {
        CheckpointFormat formatOf(MappedFile file) throws IOException;
    }

    /// Opens a mapped file, which then belongs to the checkpoint. It is closed if opening fails.
    ///
    /// @param sniffing finds the format; null for the one that the options name, or that recognises the file
    static Checkpoint open(MappedFile file, @Nullable Sniffing sniffing, OpenOptions options) throws IOException {
        return opened(file, null, sniffing, options);
    }

    /// Opens a file of a set if its entry in the set is given, or else a file that is the whole state.
    private static Checkpoint opened(MappedFile file, @Nullable Shard shard, @Nullable Sniffing sniffing,
            OpenOptions options) throws IOException {
        Timing timing = Operation.OPEN.begin();
        try {
            Checkpoint opened;
            if (shard != null) {
                opened = new Checkpoint(new CroftFormat(), file, CroftContents.open(file, shard, options), options);
            } else {
                Settings.check(options);
                CheckpointFormat format = sniffing == null
                        ? Formats.of(file, options.format().orElse(null))
                        : sniffing.formatOf(file);
                opened = new Checkpoint(format, file, Formats.open(format, file, options), options);
            }
            opened.prepare(shard == null);
            timing.end(file.location(), file.size());
            return opened;
        } catch (FormatException e) {
            file.close();
            throw e.withFile(file.location());
        } catch (Throwable e) {
            file.close();
            throw e;
        }
    }

    /// Does what the options require before the checkpoint is returned.
    ///
    /// @param isWhole whether this is all of the state, so that patterns of names have to match here
    private void prepare(boolean isWhole) throws IOException {
        try {
            checkMapping();
            checkSnapshot();
            if (isWhole) {
                checkPatterns(location(), List.of(this));
            }
            if (options.expected().isPresent()) {
                requireExactly(options.expected().get());
            }
            if (options.isInMemory()) {
                EagerLoad.run(contents, file, options.progress());
            }
        } catch (Throwable e) {
            contents.release();
            throw e;
        }
    }

    /// If several threads make it at once, any can be used.
    private NameLookup lookup() {
        NameLookup existing = lookup;
        if (existing == null) {
            existing = new NameLookup(contents);
            lookup = existing;
        }
        return existing;
    }

    private void checkMapping() {
        if (options.isInMemory() && options.mapping() == MapMode.SHARED) {
            throw new IllegalArgumentException(
                    "what is read into memory is not mapped shared: writes would not reach the file; "
                            + "open it without OpenOptions.inMemory, or copy-on-write");
        }
    }

    /// Throws if a pattern chooses no tensor in any of several files that are opened with the same options.
    ///
    /// @param location the file, or the set of files, for the message
    static void checkPatterns(String location, List<Checkpoint> files) {
        List<Glob> unmatched = files.isEmpty() ? List.of() : new ArrayList<>(files.getFirst().options.patterns());
        for (Checkpoint file : files) {
            if (!unmatched.isEmpty()) {
                file.contents.anyName(name -> {
                    unmatched.removeIf(glob -> glob.test(name));
                    return unmatched.isEmpty();
                });
            }
            if (!unmatched.isEmpty()) {
                file.contents.aliases().keySet().forEach(alias -> unmatched.removeIf(glob -> glob.test(alias)));
            }
        }
        if (!unmatched.isEmpty()) {
            String pattern = unmatched.getFirst().toString();
            throw new NoSuchElementException(location + " has no tensor whose name matches "
                    + FormatException.quote(pattern) + files.stream().map(file -> file.similar(pattern))
                            .filter(hint -> !hint.isEmpty()).findFirst().orElse(""));
        }
    }

    /// Returns all names of the file, not only the chosen ones.
    private String similar(String pattern) {
        Set<String> all = new LinkedHashSet<>(StateIndex.of(tree()).tensors().sequencedKeySet());
        all.addAll(contents.aliases().keySet());
        NameLookup among = new NameLookup(all::contains, test -> all.stream().anyMatch(test));
        String near = among.hint(pattern, all);
        return near.isEmpty() && !all.isEmpty()
                ? "; its names are for instance " + FormatException.quote(among.shortest(all.iterator().next()))
                : near;
    }

    private void requireExactly(Map<String, TensorSpec> expected) {
        MatchReport report = compare(expected);
        if (!report.isExact()) {
            throw new StateMismatchException(location(), report,
                    "Open another file, or without OpenOptions.strict");
        }
    }

    private void checkSnapshot() {
        if (options.snapshot().isPresent() && !(contents instanceof CroftContents)) {
            throw new NoSuchElementException(
                    location() + " has no snapshot " + options.snapshot().getAsLong() + ": a file of the "
                            + "format " + format + " has none; open it without naming one");
        }
    }

    /// Saves a state, with the default options; see [#save(Path, Object, SaveOptions)].
    ///
    /// @param path the file to make or replace; its suffix names the format
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @return a report of the files written, the parts of the state that they do not keep, and the bytes they share
    /// @throws LockedException if another writer has locked the file that would be replaced
    /// @throws IOException if writing fails; nothing is left behind
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path
    public static SaveReport save(Path path, @Nullable Object state) throws IOException {
        return save(path, state, SaveOptions.defaults());
    }

    /// Saves a state, durably and atomically: the file appears complete under its name or not at all, and replaces an
    /// existing file of that name in one step.
    ///
    /// The suffix names the format, for instance `.safetensors` or `.pt`. A name without the suffix of a known format
    /// makes a `.croft` file, and [SaveOptions#format] overrides the suffix. A `.croft` file keeps everything and
    /// stores equal bytes once; what other formats do not keep is in the [report][SaveReport#losses].
    ///
    /// A process that is killed during a save leaves a temporary file, whose name ends with `.croft-tmp`, until the
    /// next save in the directory, and possibly `NAME.lock` until the next save of that name; neither blocks a later
    /// save. A file that is replaced is locked during the save, and a second writer is refused. If several writers make
    /// the same new file, the file of the last one stays. Writers on several machines exclude each other only if the
    /// file system has locks that all of them see, which NFS mounted with `nolock` does not have.
    ///
    /// A format of [several files][CheckpointFormat.Capability#SEVERAL_FILES] writes the other files to the directory
    /// of the named file, the index, which is written last. Files of an existing set are never mixed with new ones: if
    /// one of them would be replaced, nothing is written. So after a power failure the directory has the former set or
    /// the new one, and possibly files that no index names, which the next save replaces. If the options name such a
    /// format, the path may be that of a directory, for a file of [the usual name][CheckpointFormat#indexName] in it.
    ///
    /// @param path the file to make or replace
    /// @param state a tree as [io.undercroft.serializer.state] describes it; a part of one for a format that has no
    ///     place for the rest
    /// @param options the format and the other options of the save
    /// @return a report of the files written, the parts of the state that they do not keep, and the bytes they share
    /// @throws LockedException if another writer has locked the file that would be replaced, or the set
    /// @throws SourceFileException if the state was opened from the file that would be replaced, or from the set,
    ///     unless [that is allowed][SaveOptions#replacingSource]
    /// @throws ReferencedFileException if the file that would be replaced has bytes of another one, which is open or
    ///     which the state was opened from, unless [that is allowed][SaveOptions#replacingReferenced]
    /// @throws java.nio.file.FileAlreadyExistsException if there is a set of that name, and a file that may belong to
    ///     it would be replaced
    /// @throws IOException if writing fails, or bytes of the state are in a file that cannot be read, for instance
    ///     because it was truncated; nothing is left behind
    /// @throws FormatException if bytes of the state are in a damaged file; nothing is left behind
    /// @throws IllegalStateException if they are in a checkpoint that was closed; nothing is left behind
    /// @throws IllegalArgumentException if the format is unknown or cannot be written, or cannot store the state; the
    ///     message has the path of the value. Also if the format does not support one of the
    ///     [settings][CheckpointFormat#settings] or of the options
    public static SaveReport save(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        return save(target(path, options, Disk.system()), state, options);
    }

    private static SaveReport save(Target target, @Nullable Object state, SaveOptions options) throws IOException {
        return Save.prepare(target, formatToWrite(target, options), state, options, null).run();
    }

    private static Target target(Path path, SaveOptions options, Disk disk) throws IOException {
        return Target.of(Formats.fileToWrite(Objects.requireNonNull(path, "path"),
                Objects.requireNonNull(options, "options").format().orElse(null)), disk);
    }

    private static Target target(URI uri, SaveOptions options) throws IOException {
        Objects.requireNonNull(options, "options");
        requireScheme(uri);
        return uri.getScheme().equalsIgnoreCase("file")
                ? target(Path.of(uri), options, Disk.system())
                : Target.of(Stores.target(uri, options), Stores.settingsForWriting(uri));
    }

    private static Target target(StoreTarget target) {
        return Target.of(Objects.requireNonNull(target, "target"), Set.of());
    }

    private static CheckpointFormat formatToWrite(Target target, SaveOptions options) {
        Objects.requireNonNull(options, "options");
        Set<String> settingsOfStore = Set.of();
        if (target instanceof StoredTarget stored) {
            options.requireForStore(target.location());
            settingsOfStore = stored.settings();
        }
        CheckpointFormat format = Formats.forWriting(target.location(), target.fileName(),
                options.format().orElse(null));
        Settings.check(target.location(), format, options, settingsOfStore);
        if (!Formats.isCroft(format)) {
            options.requireForeign(target.location(), format.name());
        }
        return format;
    }

    /// Saves a state to a store, with the default options; see [#save(URI, Object, SaveOptions)].
    ///
    /// @param uri the file to make or replace; the suffix of its path names the format
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @return a report of the files written, the parts of the state that they do not keep, and the bytes they share
    /// @throws IOException if writing fails; nothing is visible then
    /// @throws IllegalArgumentException as [#save(URI, Object, SaveOptions)]
    public static SaveReport save(URI uri, @Nullable Object state) throws IOException {
        return save(uri, state, SaveOptions.defaults());
    }

    /// Saves a state to a store, durably and atomically: the file appears complete under its name or not at all. The
    /// schemes depend on the modules on the class path: undercroft-hadoop writes `hdfs`, `s3a` and others. A `file` URI
    /// is saved to as its path.
    ///
    /// The format is chosen as by [#save(Path, Object, SaveOptions)]. A `.croft` file is
    /// [sealed][#save(WritableByteChannel, Object, SaveOptions)], since stores are written from the first byte to the
    /// last. The file replaces the one that was there when the save began. If another writer has made or replaced the
    /// file since, this one fails with [RemoteFileException.Kind#CONFLICT], as far as the store can detect it. Files of
    /// a set are written before their index, and never replace other files. If writing the index fails, they are
    /// deleted, unless the store did not respond in the last step: then the set may be complete.
    ///
    /// @param uri the file to make or replace
    /// @param state a tree as [io.undercroft.serializer.state] describes it; a part of one for a format that has no
    ///     place for the rest
    /// @param options the format and the other options of the save
    /// @return a report of the files written, the parts of the state that they do not keep, and the bytes they share
    /// @throws RemoteFileException if nothing writes such a URI, or the store refuses or does not respond, or another
    ///     writer was faster; nothing is visible then
    /// @throws IOException if writing fails; nothing is visible then
    /// @throws FormatException if bytes of the state are in a damaged file; nothing is visible then
    /// @throws IllegalArgumentException if the URI has no scheme or is invalid, the options have bases without a
    ///     [root][SaveOptions#root] or others that need a file of this host, or as [#save(Path, Object, SaveOptions)]
    public static SaveReport save(URI uri, @Nullable Object state, SaveOptions options) throws IOException {
        return save(target(uri, options), state, options);
    }

    /// Saves a state to a target that the program made, as [#save(URI, Object, SaveOptions)].
    ///
    /// @param target the file to make or replace
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options the format and the other options of the save
    /// @return a report of the files written, the parts of the state that they do not keep, and the bytes they share
    /// @throws RemoteFileException if the store refuses or does not respond, or another writer was faster; nothing is
    ///     visible then
    /// @throws IOException if writing fails; nothing is visible then
    /// @throws FormatException if bytes of the state are in a damaged file; nothing is visible then
    /// @throws IllegalArgumentException as [#save(URI, Object, SaveOptions)]
    public static SaveReport save(StoreTarget target, @Nullable Object state, SaveOptions options)
            throws IOException {
        return save(target(target), state, options);
    }

    /// Refuses what is no absolute URI.
    static void requireScheme(URI uri) {
        if (uri.getScheme() == null) {
            throw new IllegalArgumentException("the URI has no scheme, such as https:; give a file of this host as a "
                    + "path");
        }
    }

    /// Saves a state in the background; see [#saveAsync(Path, Object, SaveOptions)].
    ///
    /// @param path the file to make or replace
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @return the running save
    /// @throws LockedException if another writer has the file
    /// @throws StagingMemoryException if there is no memory for a copy
    /// @throws IOException if the file cannot be written to
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path.
    public static PendingSave saveAsync(Path path, @Nullable Object state) throws IOException {
        return saveAsync(path, state, SaveOptions.defaults());
    }

    /// Saves a state in the background, as durably and atomically as [#save(Path, Object, SaveOptions)] and with the
    /// same bytes. When this method returns, the state is staged: the save has a copy, and the caller may change the
    /// state at once.
    ///
    /// The tensors must not be written to before this method returns. Storages in
    /// [io.undercroft.mmap.AnonymousMemory#freezableAllocator] are frozen, which takes milliseconds; of others, the
    /// bytes that tensors reach are copied. For formats other than `.croft`, such storages are copied whole, and all
    /// are compared with the checksums of their file. Callers that save often should set [SaveOptions#stagingMemory],
    /// which keeps the memory for the next copy.
    ///
    /// @param path the file to make or replace
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options the options of the save
    /// @return the running save, which reports later failures
    /// @throws LockedException if another writer has the file, for instance a save that has not ended
    /// @throws StagingMemoryException if there is no memory for a copy
    /// @throws IOException if the file cannot be written to
    /// @throws FormatException if bytes of the state are in a damaged file, and the format is not `croft`
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path.
    public static PendingSave saveAsync(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        return saveAsync(Disk.system(), path, state, options);
    }

    static PendingSave saveAsync(Disk disk, Path path, @Nullable Object state, SaveOptions options)
            throws IOException {
        return saveAsync(target(path, options, disk), state, options);
    }

    /// Saves a state to a store in the background, with the default options; see
    /// [#saveAsync(URI, Object, SaveOptions)].
    ///
    /// @param uri the file to make or replace
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @return the running save
    /// @throws RemoteFileException if nothing writes such a URI, or the store refuses or does not respond
    /// @throws StagingMemoryException if there is no memory for a copy
    /// @throws IOException if the file cannot be written to
    /// @throws IllegalArgumentException as [#save(URI, Object, SaveOptions)]
    public static PendingSave saveAsync(URI uri, @Nullable Object state) throws IOException {
        return saveAsync(uri, state, SaveOptions.defaults());
    }

    /// Saves a state to a store in the background, as atomically as [#save(URI, Object, SaveOptions)] and with the same
    /// bytes. When this method returns, the state is staged as by [#saveAsync(Path, Object, SaveOptions)], and the
    /// store has begun the file; the bytes are sent in the background. A `file` URI is saved to as its path.
    ///
    /// The file replaces the one that existed when this method was called. If two saves to one file run at the same
    /// time, one fails with [RemoteFileException.Kind#CONFLICT], as far as the store can detect it.
    ///
    /// @param uri the file to make or replace
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options the options of the save
    /// @return the running save, which reports later failures
    /// @throws RemoteFileException if nothing writes such a URI, or the store refuses or does not respond
    /// @throws StagingMemoryException if there is no memory for a copy
    /// @throws IOException if the file cannot be written to
    /// @throws FormatException if bytes of the state are in a damaged file, and the format is not `croft`
    /// @throws IllegalArgumentException as [#save(URI, Object, SaveOptions)]
    public static PendingSave saveAsync(URI uri, @Nullable Object state, SaveOptions options) throws IOException {
        return saveAsync(target(uri, options), state, options);
    }

    /// Saves a state in the background to a target that the program made, as [#saveAsync(URI, Object, SaveOptions)].
    ///
    /// @param target the file to make or replace
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options the options of the save
    /// @return the running save, which reports later failures
    /// @throws RemoteFileException if the store refuses or does not respond
    /// @throws IOException if the file cannot be written to
    /// @throws IllegalArgumentException as [#saveAsync(URI, Object, SaveOptions)], which throws the same exceptions
    public static PendingSave saveAsync(StoreTarget target, @Nullable Object state, SaveOptions options)
            throws IOException {
        return saveAsync(target(target), state, options);
    }

    private static PendingSave saveAsync(Target target, @Nullable Object state, SaveOptions options)
            throws IOException {
        CheckpointFormat format = formatToWrite(target, options);
        try (StagingMemory once = new StagingMemory()) {
            return PendingSave.start(Save.prepare(target, format, state, options,
                    options.stagingMemory().orElse(once).staging()));
        }
    }

    /// Writes a state as a sealed `.croft` file, from its first byte to its last, to a channel that cannot seek: a
    /// socket, a pipe, an upload. The file is complete when the method returns; readers recognise an incomplete file.
    /// Nothing can be appended to it. Storages of equal bytes are written once if they are in memory; storages that are
    /// decoded for the save, or are on a device, are all written, since written bytes cannot be read for comparison.
    ///
    /// @param channel the target; it stays open
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options the options of the save; the id of the file is random unless they set one
    /// @return a report of the bytes written and shared
    /// @throws IOException if writing fails, or bytes of the state are in a file that cannot be read
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path.
    ///     Also if the options choose another format
    public static DedupReport save(WritableByteChannel channel, @Nullable Object state, SaveOptions options)
            throws IOException {
        Objects.requireNonNull(channel, "channel");
        return Save.toChannel(channel, state, options);
    }

    /// {@return the known formats, in the order that [io.undercroft.serializer.spi] describes}
    public static List<CheckpointFormat> formats() {
        return Formats.all();
    }

    /// {@return the name of the file's format, for instance `croft` or `torch-zip`}
    public String format() {
        return format;
    }

    /// {@return the file}
    ///
    /// @throws UnsupportedOperationException if it is in a store, and has no path
    public Path path() {
        return file.path();
    }

    /// {@return the path of the file, or its URI without credentials if it is in a store, for messages}
    public String location() {
        return file.location();
    }

    /// {@return the file, followed by the files that it names if it is the index of a set, as of safetensors}
    ///
    /// @throws UnsupportedOperationException if they are in a store, and have no paths
    public List<Path> files() {
        return everyFile().map(each -> each.path().orElseThrow(() -> new UnsupportedOperationException(
                each.location() + " is no file of this host, and has no path"))).toList();
    }

    /// {@return the [location][#location] of each of the files, as [#files] orders them, and its size in bytes when it
    /// was opened}
    public SequencedMap<String, Long> fileSizes() {
        SequencedMap<String, Long> sizes = new LinkedHashMap<>();
        everyFile().forEach(each -> sizes.put(each.location(), each.nbytes()));
        return Collections.unmodifiableSequencedMap(sizes);
    }

    private Stream<Companion> everyFile() {
        return Stream.concat(Stream.of(Companion.of(file)), contents.companions().stream());
    }

    /// {@return the other files that have bytes of the snapshot that was opened: `.croft` files that were named as
    /// bases and files of other formats that were adopted, existing or missing, in the order in which the file names
    /// them} Empty if the file needs no other. This method opens the existing ones; it reads all of a renamed adopted
    /// file, which [OpenOptions#base(Path)] names, to recognise it.
    ///
    /// @throws FormatException if their description is damaged
    public List<BaseFile> bases() {
        checkOpen();
        return contents instanceof CroftContents croft ? croft.bases() : List.of();
    }

    private void checkOpen() {
        if (closed.get()) {
            throw new IllegalStateException(location() + " is closed; close it later, or open it again");
        }
    }

    /// Records that a writer sees the newest snapshot of a `.croft` file.
    void seen(FileHistory history) throws IOException {
        if (contents instanceof CroftContents croft) {
            history.see(path(), croft.newest());
        }
    }

    /// {@return whether this was closed}
    boolean isClosed() {
        return closed.get();
    }

    /// {@return whether this is open, and its path, or its name in shared memory, still means the file that was opened}
    boolean isCurrent() throws IOException {
        return !closed.get() && file.isCurrent();
    }

    /// {@return the state; the same objects at every call} It is [#tree] with objects of the program in place of the
    /// nodes that they were saved as.
    ///
    /// @throws FormatException if an object is of a class that [OpenOptions#classes(StateClasses)] does not know, or
    ///     cannot be made of what was saved; the message has its path
    public @Nullable Object state() {
        checkOpen();
        return decoded().state;
    }

    private synchronized DecodedState decoded() {
        DecodedState existing = decoded;
        if (existing == null) {
            existing = named(() -> new DecodedState(ObjectDecoder.of(tree(), options.classes())));
            decoded = existing;
        }
        return existing;
    }

    /// Reads from the open file, and adds its path to an exception that does not have one yet.
    private <T extends @Nullable Object> T named(Supplier<T> access) {
        checkOpen();
        try {
            return access.get();
        } catch (FormatException e) {
            throw e.withFile(location());
        }
    }

    /// {@return the state tree as it is in the file, as [io.undercroft.serializer.state] describes it; the same
    /// objects at every call} An object of a Java program is a node whose type begins with `java:`, a record for
    /// instance a [TypedMap][io.undercroft.serializer.state.TypedMap] of its components. A tree with such nodes can be
    /// saved.
    public @Nullable Object tree() {
        return named(contents::state);
    }

    /// {@return the value at a path of the [tree][#tree]: a number, a text, a container, a tensor, or null} So
    /// `value("optimizer/param_groups/0/lr")` is the value of the key `lr` of the first element of the list
    /// `param_groups` of the map `optimizer`. Integers in a path find integers, whatever their width.
    ///
    /// The path is one as that of a tensor: keys and positions, joined by `/`, in which a slash in a key is `~1`, or
    /// the keys as they are where only one value has that path. The names and [aliases][#aliases] of tensors are paths;
    /// so is the key of a text of the [metadata][#metadata], if nothing else has that path.
    ///
    /// @param path the path, for instance `step`
    /// @throws NoSuchElementException if there is none, or if several match; the message lists them, or similar paths
    /// @throws FormatException if its description is damaged
    public @Nullable Object value(String path) {
        Objects.requireNonNull(path, "path");
        return named(() -> {
            Optional<Tensor> tensor = contents.tensor(path);
            return tensor.isPresent() ? tensor.get() : valueInTree(path);
        });
    }

    private @Nullable Object valueInTree(String path) {
        Optional<StatePart> part = StatePart.find(tree(), path);
        if (part.isPresent()) {
            return part.get().value();
        }
        return lookup().find(path).flatMap(contents::tensor).map(Object.class::cast)
                .or(() -> Optional.ofNullable(metadata().get(path))).orElseThrow(() -> missingValue(path));
    }

    private NoSuchElementException missingValue(String path) {
        List<String> paths = Stream.of(StatePart.scalars(tree(), MOST_COMPARED).stream().map(StatePart::path),
                names().stream(), aliases().keySet().stream(), metadata().keySet().stream())
                .flatMap(Function.identity()).distinct().toList();
        return new NoSuchElementException(location() + " has no tensor or value " + FormatException.quote(path)
                + lookup().hint(path, paths) + otherFiles());
    }

    /// {@return the value at a path, which is of a certain class}
    ///
    /// A number is converted: a floating-point number to the nearest `Double` or `Float`, an integer to any class that
    /// holds it. A tensor of one element, and an array of one element of NumPy, is the number that it has, if the class
    /// is that of a number or of truth values.
    ///
    /// ```java
    /// double rate = c.value("optimizer/param_groups/0/lr", Double.class);
    /// long step = c.value("step", Long.class);
    /// ```
    ///
    /// @param <T> the class
    /// @param path the path, as of [#value(String)]
    /// @param type the class of the value, for instance `Long`, `Double`, `Boolean`, `String`, `Map` or `Tensor`
    /// @throws ClassCastException if it is of another class, or null, or a number that the class does not hold
    /// @throws NoSuchElementException as [#value(String)]
    /// @throws FormatException as [#value(String)]
    public <T> T value(String path, Class<T> type) {
        Objects.requireNonNull(type, "type");
        return ValueConversion.of(value(path), type,
                () -> "the value at " + FormatException.quote(path) + " in " + location());
    }

    /// {@return the state, which is of a certain class}
    ///
    /// @param <T> the class
    /// @param type the class of the state's root: a registered one, or `Map`, `List`, `Tensor`
    /// @throws ClassCastException if it is of another class
    /// @throws FormatException as from [#state()]
    public <T> T state(Class<T> type) {
        Objects.requireNonNull(type, "type");
        return ValueConversion.of(state(), type, () -> "the state in " + location());
    }

    /// {@return the state, which is a map with texts as keys: the map itself, not a copy}
    ///
    /// @throws ClassCastException if it is no map, or has another key
    /// @throws FormatException as from [#state()]
    @SuppressWarnings("unchecked")
    public Map<String, @Nullable Object> stateMap() {
        Map<?, ?> state = state(Map.class);
        for (Object key : state.keySet()) {
            if (!(key instanceof String)) {
                throw new ClassCastException("the state in " + location() + " has the key " + key
                        + ", which is no text; use state(Map.class)");
            }
        }
        return (Map<String, @Nullable Object>) state;
    }

    /// {@return free-form text about the file, as [SaveOptions#metadata] sets it} It is no part of the [state][#state].
    public Map<String, String> metadata() {
        return named(contents::metadata);
    }

    /// {@return the names of all tensors in the order of the state; see [io.undercroft.serializer.state]}
    public SequencedCollection<String> names() {
        checkOpen();
        try {
            return contents.names();
        } catch (FormatException e) {
            throw e.withFile(location());
        }
    }

    /// {@return whether there is a tensor of that name, as [#tensor] finds it} Reads no element.
    ///
    /// @param name a tensor's name
    public boolean contains(String name) {
        Objects.requireNonNull(name, "name");
        return named(() -> lookup().find(name).isPresent());
    }

    /// {@return the tensor of that name; always the same object} If the [policy][ChecksumPolicy] requires it, its
    /// storage is checked now.
    ///
    /// A tensor is found by its name, one of [#names], or else by the keys that lead to it as they are, joined by `/`,
    /// if these lead to no other tensor: `params~1Dense_0~1kernel` and `params/Dense_0/kernel` are the same tensor of a
    /// flat map with the key `params/Dense_0/kernel`. So a name finds the tensor in any file with the same keys,
    /// however its maps nest. The [alias][#aliases] of a tensor of a PyTorch module does, too.
    ///
    /// @param name its name
    /// @throws NoSuchElementException if there is none, or if several match; the message lists them, or similar names
    /// @throws FormatException if its description or its elements are damaged
    public Tensor tensor(String name) {
        Objects.requireNonNull(name, "name");
        checkOpen();
        try {
            Optional<Tensor> exact = contents.tensor(name);
            return exact.isPresent() ? exact.get() : similarlyNamed(name);
        } catch (FormatException e) {
            throw e.withFile(location());
        }
    }

    private Tensor similarlyNamed(String name) {
        return lookup().find(name).flatMap(contents::tensor).orElseThrow(() -> missing(name));
    }

    private NoSuchElementException missing(String name) {
        SequencedCollection<String> names = names();
        return new NoSuchElementException(location() + " has no tensor " + FormatException.quote(name) + " among "
                + (options.isPartial() ? "the " + names.size() + " that were chosen" : "its " + names.size())
                + (isScalar(name)
                        ? "; it is a value that is no tensor, which Checkpoint.value returns"
                        : lookup().hint(name, Stream.concat(names.stream(), aliases().keySet().stream()).toList())
                                + otherFiles()));
    }

    /// Returns whether the tree has a value at a path that is neither a tensor nor a container. If the tree is damaged,
    /// tensors can be found all the same.
    private boolean isScalar(String path) {
        try {
            return StatePart.find(tree(), path).filter(StatePart::isScalar).isPresent();
        } catch (FormatException | NoSuchElementException | UncheckedIOException _) {
            return false;
        }
    }

    private String otherFiles() {
        return unread().stream().filter(part -> part.kind() == Kind.FILE).map(part -> "; it may be in " + part.what())
                .collect(Collectors.joining());
    }

    /// {@return the tensors by their [names][#names], in that order} A view: each tensor is created by [#tensor] when
    /// it is requested, so an unreadable one does not affect the others.
    public Map<String, Tensor> tensors() {
        checkOpen();
        return new TensorMap(this);
    }

    /// {@return the storages in the order in which the state first uses them}
    public List<Storage> storages() {
        return named(contents::storages);
    }

    /// {@return the runs of bytes in files that a storage consists of, in ascending order} Empty if the storage has no
    /// bytes, or the file does not have them as they are in memory (compressed, in the other byte order), or they are
    /// parts in several shards of a [ShardSet]. A `.croft` file has digests of them, so that storages of two files can
    /// be compared without reading them.
    ///
    /// @param storage one of [#storages]
    /// @throws FormatException if their description is damaged
    public List<Extent> extents(Storage storage) {
        Objects.requireNonNull(storage, "storage");
        return named(() -> contents.extents(storage, file));
    }

    /// {@return the parts of the file that are not bytes of storages, in the order of the file} In a `.croft` file they
    /// are the header, the records and indexes of all snapshots, and the free bytes. Bytes that belong neither to a
    /// region nor to an extent are padding, or bytes of storages of other snapshots. The list is empty for other
    /// formats.
    ///
    /// @throws FormatException if an earlier commit is damaged
    /// @throws UncheckedIOException if reading fails
    public List<FileRegion> regions() {
        return named(contents::regions);
    }

    /// {@return the snapshots of the file, the newest first} Empty if the format has no snapshots; most do not.
    ///
    /// @throws IOException if reading fails
    /// @throws FormatException if an earlier commit is damaged or missing
    public List<SnapshotInfo> snapshots() throws IOException {
        checkOpen();
        return contents instanceof CroftContents croft ? croft.snapshots() : List.of();
    }

    /// {@return the snapshot that was opened, if the format has snapshots}
    public Optional<SnapshotInfo> snapshot() {
        checkOpen();
        return contents instanceof CroftContents croft ? Optional.of(croft.snapshot()) : Optional.empty();
    }

    /// {@return why a newer commit was skipped when this was opened, if one was} A crash during an append leaves such a
    /// commit; so does damage.
    public Optional<FormatException> skippedCommit() {
        checkOpen();
        return contents instanceof CroftContents croft ? croft.skippedCommit() : Optional.empty();
    }

    /// {@return the parts of the file that [the state][#tree] does not contain, in the order of the file; usually none}
    /// They are other states in the same file, members of an archive that the state does not reference, or bytes before
    /// or after the parts that were read; of a file that is one part of a model in several files, the other files. A
    /// copy of the state does not contain them. Formats whose reference implementation refuses such files refuse them
    /// when they are opened.
    public List<UnreadPart> unread() {
        checkOpen();
        return contents.companions().isEmpty()
                ? UnreadPart.withFiles(contents.unread(), location())
                : contents.unread();
    }

    /// {@return the classes and functions of another language that the file names and that its format does not know, in
    /// the order in which it names them; usually none} Nothing is looked up, loaded or called for them: their objects
    /// are maps in [the state][#tree]. Programs that load the file by other means, for instance by `torch.load` with
    /// `weights_only=False`, call them; a [dangerous][ForeignClass#isDangerous] one may be an attack.
    public List<ForeignClass> foreignClasses() {
        checkOpen();
        return contents.foreignClasses();
    }

    /// {@return short names by which programs know tensors, and for each the [name][#names] here} For instance, those
    /// that `state_dict()` of PyTorch would give: `fc1.weight` for `_modules/fc1/_parameters/weight`. Methods that take
    /// the name of a tensor take them too, and so do [patterns][OpenOptions#only(String...)]. Most files have none.
    public Map<String, String> aliases() {
        return named(() -> {
            Map<String, String> all = contents.aliases();
            if (!options.isPartial()) {
                return all;
            }
            Map<String, String> chosen = new LinkedHashMap<>(all);
            chosen.values().removeIf(name -> !contents.contains(name));
            return Collections.unmodifiableMap(chosen);
        });
    }

    /// {@return the damaged parts of storages found so far} [OpenOptions#checksums(ChecksumPolicy)] determines which
    /// storages are checked, and when.
    public List<Damage> damages() {
        return contents.damages();
    }

    /// Reads the whole file, earlier snapshots included, and checks it against its checksums. In other files that hold
    /// bytes of it, only these bytes are read. A file that is shorter than when it was opened is damaged.
    ///
    /// @return the damages; the number of bytes that were not compared, as they have no checksums (as most other
    ///     formats) or are in other files that were not searched for; and the missing files
    /// @throws IOException if reading fails
    public Verification verify() throws IOException {
        checkOpen();
        Timing timing = Operation.VERIFY.begin();
        Verification found = verified(TruncationCheck.verify(file, contents));
        timing.end(location(), file.size());
        return found;
    }

    /// A format without checksums has compared nothing, even if it does not say so. The index of a set reports what its
    /// files report.
    private Verification verified(Verification found) {
        return isWithoutChecksums && found.unverifiedBytes() == 0
                ? new Verification(found.damages(), 1, file.size(), found.missingBases())
                : found;
    }

    /// Reads all bytes of the storages in the background, and checks them against their checksums.
    ///
    /// @param found called with each damage, in the thread that reads
    /// @return a handle to wait for the end or to cancel
    /// @throws IllegalStateException if this is closed
    public Scrub scrub(Consumer<Damage> found) {
        Objects.requireNonNull(found, "found");
        Scrub scrub = Scrub.start(contents, location(), found);
        scrubs.add(scrub);
        if (closed.get()) {
            scrub.close();
            checkOpen();
        }
        return scrub;
    }

    // ---- loading ----

    /// Copies some rows of a tensor, that is, elements of its first dimension, into new memory: as
    /// `tensor(name).narrow(0, from, to - from).copy()`, but reads nothing else of the tensor. If the
    /// [policy][ChecksumPolicy] requires a check, the chunks that contain these rows are read and checked.
    ///
    /// If the rows are not contiguous (in a transposed tensor, for instance), the bytes between them are read too; a
    /// compressed record is read whole. Storages that were touched before are copied from memory.
    ///
    /// @param name a tensor's name, as for [#tensor]
    /// @param from the first row
    /// @param to the end, exclusive
    /// @return the rows, in row-major order, on the device of the tensor; they stay valid when this is closed
    /// @throws NoSuchElementException if there is no such tensor
    /// @throws IndexOutOfBoundsException if it does not have these rows
    /// @throws FormatException if its description or its rows are damaged
    /// @throws UncheckedIOException if the file was truncated, or reading fails
    public Tensor rows(String name, long from, long to) {
        Objects.requireNonNull(name, "name");
        if (from < 0 || to < from) {
            throw new IndexOutOfBoundsException("rows from " + from + " to " + to + " of "
                    + FormatException.quote(name) + ": from is at least 0, and to, which is exclusive, at least from");
        }
        return part(name, tensor -> {
            if (tensor.dim() == 0 || to > tensor.size(0)) {
                throw new IndexOutOfBoundsException("rows from " + from + " to " + to + " of "
                        + FormatException.quote(name) + ", which has "
                        + (tensor.dim() == 0 ? "no dimensions" : tensor.size(0) + " rows, counted from 0"));
            }
            return tensor.narrow(0, from, to - from);
        });
    }

    /// Copies some elements of a tensor into new memory, as [#rows(String, long, long)] copies rows. Of a tensor that a
    /// distributed checkpoint has in several chunks, only the chunks with these elements are opened.
    ///
    /// @param name a tensor's name, as for [#tensor]
    /// @param offset the index of the first element in each dimension
    /// @param shape the number of elements in each dimension
    /// @return the elements, in row-major order, on the device of the tensor; they stay valid when this is closed
    /// @throws IndexOutOfBoundsException if the tensor does not have these elements. [#rows(String, long, long)] lists
    ///     the other exceptions
    public Tensor slice(String name, long[] offset, Shape shape) {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(shape, "shape");
        long[] first = offset.clone();
        return part(name, tensor -> {
            boolean isInside = first.length == tensor.dim() && shape.rank() == tensor.dim()
                    && IntStream.range(0, first.length)
                            .allMatch(dim -> first[dim] >= 0 && first[dim] <= tensor.size(dim) - shape.size(dim));
            if (!isInside) {
                throw new IndexOutOfBoundsException("a slice of the shape " + shape + " at " + Arrays.toString(first)
                        + " of " + FormatException.quote(name) + ", which has the shape " + tensor.shape());
            }
            Tensor view = tensor;
            for (int dim = 0; dim < first.length; dim++) {
                view = view.narrow(dim, first[dim], shape.size(dim));
            }
            return view;
        });
    }

    private Tensor part(String name, UnaryOperator<Tensor> view) {
        return named(() -> contents.part(name, view)
                .or(() -> lookup().find(name).flatMap(found -> contents.part(found, view)))
                .orElseThrow(() -> missing(name)));
    }

    /// Reads some rows of a tensor into new memory, for instance those of an embedding for the tokens of a text. A row
    /// is an element of the first dimension. Only the bytes of these rows are read.
    ///
    /// @param name its name
    /// @param rows the indices of the rows, in the order of the result; an index may occur more than once
    /// @return a new tensor, whose first size is the number of rows
    /// @throws IndexOutOfBoundsException if there is no such row; the message has the row and its place in the array.
    ///     [#rows(String, long, long)] lists the other exceptions
    public Tensor rows(String name, long[] rows) {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(rows, "rows");
        if (rows.length == 0) {
            return rows(name, 0, 0);
        }
        TensorSpec spec = named(() -> contents.spec(name).or(() -> lookup().find(name).flatMap(contents::spec))
                .orElseThrow(() -> missing(name)));
        requireRows(name, spec.shape().size(0), rows);
        long[] sizes = spec.shape().toArray();
        sizes[0] = rows.length;
        Tensor gathered = Tensor.zeros(spec.dtype(), sizes);
        for (int i = 0; i < rows.length; i++) {
            gathered.narrow(0, i, 1).copyFrom(rows(name, rows[i], rows[i] + 1));
        }
        return gathered;
    }

    private static void requireRows(String name, long count, long[] rows) {
        for (int i = 0; i < rows.length; i++) {
            if (rows[i] < 0 || rows[i] >= count) {
                throw new IndexOutOfBoundsException("row " + rows[i] + ", at index " + i + " of the array, of "
                        + FormatException.quote(name) + ", which has " + count + " rows, counted from 0");
            }
        }
    }

    /// {@return the differences between the tensors and those expected} Reads no element.
    ///
    /// @param expected the expected dtypes and shapes by the names of the tensors, or by their names in another file
    ///     with the same keys; see [TensorSpec#ofState]
    /// @throws FormatException if the description of the state or of a tensor is damaged
    public MatchReport compare(Map<String, TensorSpec> expected) {
        Objects.requireNonNull(expected, "expected");
        return named(() -> StateMatch.compare(contents, expected, TensorSpec::equals).report());
    }

    /// Copies the tensors of this checkpoint into those of a state, in place, as PyTorch's `load_state_dict` does. Both
    /// need to have the same names, or the same keys as [#tensor] compares them, and the same shapes; elements of
    /// another dtype are converted, as [Tensor#copyFrom] does.
    ///
    /// Everything is checked before the first element changes: names, shapes, whether the tensors can be written to,
    /// and checksums if the [policy][ChecksumPolicy] requires it. Bytes that several tensors share are copied once.
    /// Tensors that share bytes in the state, while the file has different bytes for them, are refused.
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it, and objects of the classes that this was
    ///     opened with
    /// @return a report without differences
    /// @throws StateMismatchException if they differ; nothing was changed then
    /// @throws UnsupportedOperationException if a tensor of the state is read-only or on the meta device; nothing was
    ///     changed then
    /// @throws IllegalArgumentException if two indices of a tensor of the state are the same element, or an object is
    ///     of a class that this was not opened with; nothing was changed then
    /// @throws IllegalStateException if a storage of the state was freed, or this is closed; nothing was changed then
    /// @throws FormatException if a loaded tensor is damaged; nothing was changed then
    /// @throws PartlyLoadedException if the file became unreadable during the copy
    public MatchReport loadInto(@Nullable Object state) {
        return loadInto(state, true);
    }

    /// Copies the tensors that both this checkpoint and a state have, and leaves the others as they are (`strict=False`
    /// in PyTorch). Their shapes still have to be the same. Otherwise as [#loadInto].
    ///
    /// @param state a tree as [io.undercroft.serializer.state] describes it, and objects of the classes that this was
    ///     opened with
    /// @return a report of the differences
    /// @throws StateMismatchException if shapes differ; nothing was changed then
    /// @throws PartlyLoadedException as [#loadInto], which throws the same exceptions
    public MatchReport loadMatching(@Nullable Object state) {
        return loadInto(state, false);
    }

    private MatchReport loadInto(@Nullable Object state, boolean isStrict) {
        return named(() -> InPlaceLoad.run(contents, file,
                ObjectEncoder.of(state, options.classes(), "load into"), isStrict));
    }

    /// Releases the storages and the file, and ends reads in the background. The second and later calls do
    /// nothing.
    ///
    /// A retained storage that was not touched yet is mapped or decoded first. If that fails, the failure is thrown
    /// when it is touched, not here.
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            for (Scrub scrub : scrubs) {
                scrub.close();
            }
            try {
                contents.release();
            } finally {
                file.close();
            }
        }
    }

    /// {@return the file and its format}
    @Override
    public String toString() {
        return location() + " (" + format + ")";
    }
}
