package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.SnapshotSearch;
import io.undercroft.format.internal.StorageCheck;
import io.undercroft.format.internal.StorageChunk;
import io.undercroft.mmap.FileReadException;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.internal.CommitNumbers;
import io.undercroft.serializer.internal.CroftContents;
import io.undercroft.serializer.internal.CroftFormat;
import io.undercroft.serializer.internal.FileSource;
import io.undercroft.serializer.internal.MappedAccess;
import io.undercroft.serializer.internal.Progress;
import io.undercroft.serializer.internal.Settings;
import io.undercroft.serializer.internal.loading.NameLookup;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The intact and the damaged tensors of a damaged `.croft` file. See [CroftFile#salvage].
///
/// ```java
/// try (CroftFile file = CroftFile.open(Path.of("model.croft"));
///         Salvage salvage = file.salvage()) {
///     Map<String, Tensor> left = new LinkedHashMap<>();
///     salvage.names().forEach(name -> left.put(name, salvage.tensor(name)));
///     Checkpoint.save(Path.of("rescued.croft"), left);
/// }
/// ```
///
/// All bytes of the storages of the newest snapshot that opens are read. A tensor is damaged if a byte of its span,
/// from its first element to its last, is in a chunk that does not match its checksum, or if its description does not
/// match; otherwise it is intact. Intact tensors share storages as they were saved. [#tensor] returns only intact
/// tensors, [#damagedTensor] only damaged ones. The state tree, which may be damaged too, is not needed: tensors are
/// listed by their names in the index, in the order of their UTF-8 bytes. The file never changes.
///
/// The index of a snapshot follows its bytes. So if the end of a file is missing, only snapshots that were committed
/// before that point open, and a file with one snapshot does not open.
///
/// Bytes in other files are checked if these are found; see [OpenOptions#root(java.nio.file.Path)]. If not, the tensor
/// counts as intact, and access to its bytes throws a [FormatException] that names the missing file.
///
/// **Lifetime and threads** are those of a [Checkpoint].
public final class Salvage implements AutoCloseable {
    private final MappedFile file;
    private final Snapshot snapshot;
    private final boolean isSearched;
    private final ProgressListener listener;
    private final CroftContents contents;
    private final Map<Integer, List<StorageChunk>> damagedStorages = new HashMap<>();
    private final Map<Integer, FormatException> lostStorages = new HashMap<>();
    private final SequencedMap<String, Integer> intact = new LinkedHashMap<>();
    private final SequencedMap<String, Hurt> damaged = new LinkedHashMap<>();
    private final SequencedSet<Damage> damages = new LinkedHashSet<>();
    private final NameLookup lookup = new NameLookup(name -> intact.containsKey(name) || damaged.containsKey(name),
            test -> allNames().anyMatch(test));

    /// A tensor that is damaged, by the number of its name. (A search by name may fail because of other damage.)
    private record Hurt(int name, FormatException fault) {}

    private Salvage(MappedFile file, SnapshotSearch.Found found, OpenOptions options) throws IOException {
        this.file = file;
        this.snapshot = CommitNumbers.find(found.snapshot(), options, file.location());
        this.isSearched = found.isSearched();
        this.listener = options.progress();
        this.contents = CroftContents.open(file, found.snapshot(), snapshot, options);
    }

    /// Opens what is left of a file.
    ///
    /// @param path the file
    /// @param options how; all checksums are verified, whatever their policy
    /// @return what is left
    /// @throws FormatException if no snapshot opens, or it is no `.croft` file
    /// @throws IOException if reading fails
    static Salvage open(Path path, OpenOptions options) throws IOException {
        if (options.mapping() == MapMode.SHARED) {
            throw new IllegalArgumentException("a damaged file is not written to; map it privately or read-only");
        }
        Settings.check(options);
        MappedFile file = MappedFile.open(path, options.mapping());
        try {
            if (!new CroftFormat().matches(file)) {
                throw new FormatException("CROFT-SALVAGE", "this is no .croft file, and only those can be salvaged", 0,
                        "croft verify lists the damage of a file of another format, and croft convert saves the "
                                + "tensors of it that can be read");
            }
            SnapshotSearch.Found found = find(file);
            Salvage salvage = new Salvage(file, found, options.checksums(ChecksumPolicy.NONE));
            return salvage.sorted();
        } catch (FormatException e) {
            file.close();
            throw e.withFile(path.toString());
        } catch (Throwable e) {
            file.close();
            throw e;
        }
    }

    /// The remedy for damage is to salvage the file, which is of no help if that fails itself.
    private static SnapshotSearch.Found find(MappedFile file) throws IOException {
        try {
            return SnapshotSearch.find(new FileSource(file), Limits.DEFAULT);
        } catch (FormatException e) {
            if (e.remedy().options().stream().noneMatch(option -> option.name().equals("CroftFile.salvage"))) {
                throw e;
            }
            throw new FormatException(e.code(), "no snapshot of the file can be salvaged: " + e.what(), e.offset(),
                    "Fetch the file again or restore a copy", e);
        }
    }

    private Salvage sorted() {
        try {
            return MappedAccess.guarded(file, this::sort);
        } catch (Throwable e) {
            contents.release();
            throw e;
        }
    }

    private Salvage sort() {
        Progress progress = new Progress(listener, nbytes());
        StorageCheck.Pass pass = contents.pass();
        for (int storage = 0; storage < snapshot.storageCount(); storage++) {
            readStorage(storage, pass);
            progress.add(nbytes(storage));
        }
        for (int name = 0; name < snapshot.nameCount(); name++) {
            sortName(name);
        }
        return this;
    }

    private long nbytes() {
        long nbytes = 0;
        for (int storage = 0; storage < snapshot.storageCount(); storage++) {
            nbytes += Math.min(nbytes(storage), Long.MAX_VALUE - nbytes);
        }
        return nbytes;
    }

    private long nbytes(int storage) {
        try {
            return snapshot.storage(storage).nbytes();
        } catch (FormatException _) {
            // Reading the storage reports the error.
            return 0;
        }
    }

    private void readStorage(int number, StorageCheck.Pass pass) {
        try {
            List<StorageChunk> chunks = pass.damaged(number);
            if (!chunks.isEmpty()) {
                damagedStorages.put(number, chunks);
                contents.damageNames().damages(chunks).forEach(damages::add);
            }
        } catch (FormatException e) {
            lose(number, e);
        } catch (FileReadException e) {
            lose(number, new FormatException("READ-ERROR", "read error", e.offset(),
                    "Check the disk, then take the file from a backup", e));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void lose(int number, FormatException fault) {
        lostStorages.put(number, fault);
        damages.add(Damage.of("storage " + number, 0, fault));
    }

    private void sortName(int number) {
        try {
            String name = snapshot.name(number);
            try {
                int tensor = snapshot.tensorOfName(number);
                FormatException fault = faultOf(snapshot.tensor(tensor).storage(), tensor);
                if (fault == null) {
                    intact.put(name, tensor);
                } else {
                    damaged.put(name, new Hurt(number, fault));
                }
            } catch (FormatException e) {
                damaged.put(name, new Hurt(number, e));
                damages.add(Damage.of("tensor " + FormatException.quote(name), 0, e));
            }
        } catch (FormatException e) {
            damages.add(Damage.of("name " + number, 0, e));
        }
    }

    /// Returns what is wrong with the bytes of a tensor, or null.
    private @Nullable FormatException faultOf(int storage, int tensor) {
        List<StorageChunk> hurt = damagedStorages.get(storage);
        return hurt != null && contents.damageNames().isHit(hurt, tensor)
                ? contents.damageNames().refusal(hurt)
                : lostStorages.get(storage);
    }

    /// {@return the snapshot that was opened}
    public SnapshotInfo snapshot() {
        return contents.snapshot();
    }

    /// {@return the reason why a newer snapshot was skipped, if one was}
    public Optional<FormatException> skippedCommit() {
        return contents.skippedCommit();
    }

    /// {@return whether the whole file was searched for commit records, as none was in its usual place} The snapshot
    /// that was found may then be much older than the newest one that was saved.
    public boolean isSearched() {
        return isSearched;
    }

    /// {@return the names of the intact tensors}
    public SequencedSet<String> names() {
        return Collections.unmodifiableSequencedSet(intact.sequencedKeySet());
    }

    /// {@return the names of the damaged tensors}
    public SequencedSet<String> damagedNames() {
        return Collections.unmodifiableSequencedSet(damaged.sequencedKeySet());
    }

    /// {@return the damaged parts, with the tensors that they affect}
    public List<Damage> damages() {
        return List.copyOf(damages);
    }

    private Stream<String> allNames() {
        return Stream.concat(intact.sequencedKeySet().stream(), damaged.sequencedKeySet().stream());
    }

    /// {@return the intact tensor of that name; always the same object}
    ///
    /// @param name one of [#names], or a raw name as for [Checkpoint#tensor]
    /// @throws NoSuchElementException if there is none
    /// @throws FormatException with the code `V14-CHECKSUM` if it is damaged
    public Tensor tensor(String name) {
        Objects.requireNonNull(name, "name");
        String found = lookup.find(name).orElseThrow(() -> new NoSuchElementException(
                file.location() + " has no tensor " + FormatException.quote(name) + " among its "
                        + intact.size() + " intact and " + damaged.size() + " damaged ones"
                        + lookup.hint(name, allNames().toList())));
        Hurt hurt = damaged.get(found);
        if (hurt != null) {
            throw hurt.fault.withFile(file.location());
        }
        return MappedAccess.guarded(file, () -> contents.tensor(Objects.requireNonNull(intact.get(found))));
    }

    /// {@return the damaged tensor of that name, with the bytes of the file, some of which are wrong}
    ///
    /// @param name one of [#damagedNames], or a raw name as for [Checkpoint#tensor]
    /// @throws NoSuchElementException if there is none, or it is intact
    /// @throws FormatException if its description is too damaged
    public Tensor damagedTensor(String name) {
        Objects.requireNonNull(name, "name");
        Hurt hurt = lookup.find(name).map(damaged::get).orElseThrow(() -> new NoSuchElementException(
                file.location() + " has no damaged tensor " + FormatException.quote(name) + "; damaged are "
                        + damaged.size()));
        return MappedAccess.guarded(file, () -> contents.tensor(snapshot.tensorOfName(hurt.name)));
    }

    /// Releases the storages and the file.
    @Override
    public void close() {
        try {
            contents.release();
        } finally {
            file.close();
        }
    }

    /// {@return the file and the number of damaged tensors, for messages}
    @Override
    public String toString() {
        return file.location() + " (" + intact.size() + " intact tensors, " + damaged.size() + " damaged)";
    }
}
