package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.SnapshotSearch;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.Salvage;
import io.undercroft.serializer.SnapshotInfo;
import io.undercroft.serializer.internal.loading.NameLookup;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.stream.Stream;

/// Sorts the tensors of a damaged file: each storage is read once when it is opened.
public final class CroftSalvage implements Salvage {
    private final MappedFile file;
    private final Snapshot snapshot;
    private final boolean isSearched;
    private final CroftContents contents;
    private final Map<Integer, DamagedStorage> damagedStorages = new HashMap<>();
    private final Map<Integer, FormatException> lostStorages = new HashMap<>();
    private final SequencedMap<String, Integer> intact = new LinkedHashMap<>();
    private final SequencedMap<String, Hurt> damaged = new LinkedHashMap<>();
    private final List<Damage> damages = new ArrayList<>();
    private final NameLookup lookup = new NameLookup(name -> intact.containsKey(name) || damaged.containsKey(name),
            test -> allNames().anyMatch(test));

    /// A tensor that is damaged, by the number of its name. (Finding it by its name may meet other damage.)
    private record Hurt(int name, FormatException fault) {}

    private CroftSalvage(MappedFile file, SnapshotSearch.Found found, OpenOptions options) throws IOException {
        this.file = file;
        this.snapshot = options.request().snapshot().isPresent()
                ? CommitNumbers.find(found.snapshot(), options.request().snapshot().getAsLong())
                : found.snapshot();
        this.isSearched = found.isSearched();
        this.contents = CroftContents.open(file, found.snapshot(), snapshot, options);
    }

    /// Opens what is left of a file.
    ///
    /// @param path the file
    /// @param options how; whatever they say of checksums, all are looked at
    /// @return what is left
    /// @throws FormatException if no snapshot opens, or it is no `.croft` file
    /// @throws IOException if reading fails
    public static Salvage open(Path path, OpenOptions options) throws IOException {
        if (options.request().mapping() == MapMode.SHARED) {
            throw new IllegalArgumentException("a damaged file is not written to; map it privately or read-only");
        }
        MappedFile file = MappedFile.open(path, options.request().mapping());
        try {
            if (!new CroftFormat().matches(file)) {
                throw new FormatException("CROFT-SALVAGE", "this is no .croft file, and only those can be salvaged", 0,
                        "Restore a copy");
            }
            SnapshotSearch.Found found = SnapshotSearch.find(new FileSource(file), Limits.DEFAULT);
            CroftSalvage salvage = new CroftSalvage(file, found, options.verification(ChecksumPolicy.NONE));
            return salvage.sorted();
        } catch (FormatException e) {
            file.close();
            throw e.withFile(path.toString());
        } catch (Throwable e) {
            file.close();
            throw e;
        }
    }

    private CroftSalvage sorted() {
        try {
            return MappedAccess.guarded(file, this::sort);
        } catch (Throwable e) {
            contents.release();
            throw e;
        }
    }

    private CroftSalvage sort() {
        for (int storage = 0; storage < snapshot.storageCount(); storage++) {
            readStorage(storage);
        }
        for (int name = 0; name < snapshot.nameCount(); name++) {
            sortName(name);
        }
        return this;
    }

    private void readStorage(int number) {
        try {
            contents.check(number).ifPresent(storage -> {
                damagedStorages.put(number, storage);
                storage.damages().forEach(damages::add);
            });
        } catch (FormatException e) {
            lose(number, e);
        } catch (IOException e) {
            lose(number, new FormatException("CROFT-UNREADABLE", "storage " + number + " cannot be read",
                    FormatException.NO_OFFSET, "Check the disk, or restore a copy", e));
        }
    }

    private void lose(int number, FormatException fault) {
        lostStorages.put(number, fault);
        damages.add(damage("storage " + number, fault));
    }

    private void sortName(int number) {
        try {
            String name = snapshot.name(number);
            try {
                int tensor = snapshot.tensorOfName(number);
                checkSound(tensor);
                intact.put(name, tensor);
            } catch (FormatException e) {
                damaged.put(name, new Hurt(number, e));
            }
        } catch (FormatException e) {
            damages.add(damage("name " + number, e));
        }
    }

    private void checkSound(int tensor) {
        int storage = snapshot.tensor(tensor).storage();
        FormatException lost = lostStorages.get(storage);
        if (lost != null) {
            throw lost;
        }
        DamagedStorage hurt = damagedStorages.get(storage);
        if (hurt != null && hurt.hits(tensor)) {
            throw hurt.refusal();
        }
    }

    private static Damage damage(String where, FormatException fault) {
        return Damage.of(where, 0, fault);
    }

    @Override
    public SnapshotInfo snapshot() {
        return contents.snapshot();
    }

    @Override
    public Optional<FormatException> skippedCommit() {
        return contents.skippedCommit();
    }

    @Override
    public boolean isSearched() {
        return isSearched;
    }

    @Override
    public SequencedSet<String> names() {
        return Collections.unmodifiableSequencedSet(intact.sequencedKeySet());
    }

    @Override
    public SequencedSet<String> damagedNames() {
        return Collections.unmodifiableSequencedSet(damaged.sequencedKeySet());
    }

    @Override
    public List<Damage> damages() {
        return Collections.unmodifiableList(damages);
    }

    private Stream<String> allNames() {
        return Stream.concat(intact.sequencedKeySet().stream(), damaged.sequencedKeySet().stream());
    }

    @Override
    public Tensor tensor(String name) {
        Objects.requireNonNull(name, "name");
        String found = lookup.find(name).orElseThrow(() -> new NoSuchElementException(
                file.path() + " has no tensor " + FormatException.quote(name) + " among its "
                        + intact.size() + " intact and " + damaged.size() + " damaged ones"
                        + lookup.hint(name, allNames().toList())));
        Hurt hurt = damaged.get(found);
        if (hurt != null) {
            throw hurt.fault.withFile(file.path().toString());
        }
        return MappedAccess.guarded(file, () -> contents.tensor(Objects.requireNonNull(intact.get(found))));
    }

    @Override
    public Tensor damagedTensor(String name) {
        Objects.requireNonNull(name, "name");
        Hurt hurt = lookup.find(name).map(damaged::get).orElseThrow(() -> new NoSuchElementException(
                file.path() + " has no damaged tensor " + FormatException.quote(name) + "; damaged are "
                        + damaged.size()));
        return MappedAccess.guarded(file, () -> contents.tensor(snapshot.tensorOfName(hurt.name)));
    }

    @Override
    public void close() {
        try {
            contents.release();
        } finally {
            file.close();
        }
    }

    /// {@return the file, and how much of it is damaged}
    @Override
    public String toString() {
        return file.path() + " (" + intact.size() + " intact tensors, " + damaged.size() + " damaged)";
    }
}
