package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.Shard;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.StateToken;
import io.undercroft.format.internal.StateTreeReader;
import io.undercroft.format.internal.StorageCheck;
import io.undercroft.format.internal.TensorRecord;
import io.undercroft.format.internal.Verifier;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece;
import io.undercroft.serializer.BaseFile;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.FileRegion;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SnapshotInfo;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.internal.loading.RowReader;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.SequencedCollection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/// The contents of a `.croft` file. Tensors and storages are made on request, the state tree likewise; a
/// tensor is found by name without reading the tree or other tensors. Records are checked when they are used, so any
/// method may find that the file is damaged.
public final class CroftContents implements Contents, StateDecoder.Tables {
    /// The rules that the records of a tensor, its type and its storage may break without affecting other tensors.
    private static final Set<String> OF_ONE_TENSOR = Set.of(Rule.V1_ARITHMETIC.code(), Rule.V2_RANGE.code(),
            Rule.V4_EXTENT_SUM.code(), Rule.V5_STRIDE_RANGE.code(), Rule.V6_NAME.code(), Rule.V8_LIMIT.code(),
            Rule.V9_RESERVED.code(), Rule.V10_INDEX.code(), Rule.V13_UNSUPPORTED.code(), Rule.V15_STRUCTURE.code());

    private final MappedFile file;
    private final Snapshot newest;
    private final Snapshot snapshot;
    private final OpenOptions options;
    /// Whether a tensor is loaded, by its name; null if all are.
    private final @Nullable Predicate<String> choice;
    private final CroftStorages storages;
    private final Map<Integer, Storage> made = new ConcurrentHashMap<>();
    private final Map<Integer, Tensor> tensors = new ConcurrentHashMap<>();
    private final Map<Integer, DType> dtypes = new ConcurrentHashMap<>();
    /// Intact tensors on damaged storages.
    private final Map<Integer, Tensor> spared = new ConcurrentHashMap<>();
    /// Placeholders for tensors that cannot be read; they are in the tree only.
    private final Map<Integer, Tensor> unreadable = new ConcurrentHashMap<>();
    private final Lazy<Tree> tree = new Lazy<>(() -> reading(this::readTree));
    private final Lazy<Optional<List<String>>> namesByNumber = new Lazy<>(() -> reading(this::listNamesByNumber));
    private @Nullable Map<String, String> aliases;
    /// The number of the name after the one that was found last, which is often the next one. Any thread sets it, and
    /// any value is correct.
    private int nextPlace;

    /// The decoded state with its names. (A record, since the state itself may be null.)
    private record Tree(@Nullable Object state, StateIndex names) {}

    private CroftContents(MappedFile file, Snapshot newest, Snapshot snapshot, OpenOptions options,
            @Nullable Predicate<String> choice) throws IOException {
        this.file = file;
        this.newest = newest;
        this.snapshot = snapshot;
        this.options = options;
        this.choice = choice;
        this.storages = new CroftStorages(file, snapshot, options, choice, new Bases(file, options));
        References.open(file, options);
    }

    /// Opens a snapshot of a file.
    ///
    /// @param file the file
    /// @param newest its newest snapshot
    /// @param snapshot the one to open
    /// @param options the options
    /// @return its contents
    /// @throws IOException if a cache that the options name cannot be used
    public static CroftContents open(MappedFile file, Snapshot newest, Snapshot snapshot, OpenOptions options)
            throws IOException {
        CroftContents contents = new CroftContents(file, newest, snapshot, options,
                options.isPartial() ? options.choice(() -> aliases(file, newest, snapshot, options)) : null);
        try {
            return contents.reading(contents::checked);
        } catch (Throwable e) {
            contents.release();
            throw e;
        }
    }

    /// Returns the aliases of all tensors, which are known from the tree: it is read without bytes before tensors are
    /// chosen.
    private static Map<String, String> aliases(MappedFile file, Snapshot newest, Snapshot snapshot,
            OpenOptions options) {
        try {
            CroftContents whole = new CroftContents(file, newest, snapshot, options.onMeta(), null);
            try {
                return whole.aliases();
            } finally {
                whole.release();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Checks all storages, if the policy requires it.
    private CroftContents checked() {
        for (int number = 0; options.checksums() == ChecksumPolicy.EAGER
                && number < snapshot.storageCount(); number++) {
            try {
                storages.checkNow(number, storage(number));
            } catch (FormatException _) {
                // Reading the storage throws it again.
            }
        }
        return this;
    }

    /// Opens a file of a set at the snapshot of the set.
    ///
    /// @param file the file
    /// @param shard its entry in the set
    /// @param options the options
    /// @return its contents
    /// @throws FormatException by rule V21 if it is another file, or lacks that snapshot
    /// @throws IOException if reading fails
    public static CroftContents open(MappedFile file, Shard shard, OpenOptions options) throws IOException {
        Snapshot snapshot = shard.open(new FileSource(file), Limits.DEFAULT);
        return open(file, snapshot, snapshot, options);
    }

    @Override
    public @Nullable Object state() {
        return tree.get().state;
    }

    @Override
    public Map<String, String> metadata() {
        return reading(() -> CommitNumbers.given(snapshot));
    }

    @Override
    public SequencedCollection<String> names() {
        List<String> listed = namesByNumber.get().orElse(null);
        SequencedCollection<String> names = listed != null ? listed : tree.get().names.tensors().sequencedKeySet();
        return choice == null ? names : names.stream().filter(choice).toList();
    }

    /// Returns all names without making a tensor, or nothing if their order is known only from the tree. Writers number
    /// tensors in the order of their first names. So if each has one name, and is in the tree once, in the order of the
    /// numbers, then that is the order of the names.
    private Optional<List<String>> listNamesByNumber() {
        int count = snapshot.nameCount();
        if (count != snapshot.tensorCount() || !isTreeInOrder()) {
            return Optional.empty();
        }
        String[] names = new String[count];
        BitSet named = new BitSet(count);
        for (int place = 0; place < count; place++) {
            int tensor = snapshot.tensorOfName(place);
            if (named.get(tensor)) {
                return Optional.empty();
            }
            named.set(tensor);
            names[tensor] = snapshot.name(place);
        }
        return Optional.of(List.of(names));
    }

    private boolean isTreeInOrder() {
        StateTreeReader in = snapshot.tree();
        int next = 0;
        for (StateToken token = in.next(); token != StateToken.DONE; token = in.next()) {
            if (token == StateToken.TENSOR) {
                if (in.index() != next) {
                    return false;
                }
                next++;
            }
        }
        return next == snapshot.tensorCount();
    }

    /// Names are read from the table, without the tree.
    @Override
    public boolean anyName(Predicate<String> test) {
        return reading(() -> IntStream.range(0, snapshot.nameCount())
                .anyMatch(number -> passes(number, choice == null ? test : choice.and(test))));
    }

    private boolean passes(int number, Predicate<String> test) {
        String name;
        try {
            name = snapshot.name(number);
        } catch (FormatException _) {
            // Reading that tensor throws it again.
            return false;
        }
        return test.test(name);
    }

    @Override
    public synchronized Map<String, String> aliases() {
        Map<String, String> existing = aliases;
        if (existing == null) {
            existing = reading(this::findAliases);
            aliases = existing;
        }
        return existing;
    }

    /// The tree is read only if the names suggest that it has modules.
    private Map<String, String> findAliases() {
        boolean mayHave = IntStream.range(0, snapshot.nameCount())
                .anyMatch(number -> passes(number, PythonObjects::mayBeInModule));
        return mayHave ? PythonObjects.aliases(state(), tree.get().names.tensors()) : Map.of();
    }

    @Override
    public Optional<Tensor> tensor(String name) {
        return reading(() -> {
            int number = find(name);
            return number < 0 ? Optional.<Tensor>empty() : Optional.of(intact(number));
        });
    }

    @Override
    public boolean contains(String name) {
        return reading(() -> find(name) >= 0);
    }

    @Override
    public Optional<TensorSpec> spec(String name) {
        return reading(() -> {
            int number = find(name);
            return number < 0 ? Optional.<TensorSpec>empty() : Optional.of(TensorSpec.of(tensor(number)));
        });
    }

    @Override
    public Optional<Tensor> part(String name, UnaryOperator<Tensor> view) {
        return reading(() -> {
            int number = find(name);
            return number < 0 ? Optional.<Tensor>empty() : Optional.of(part(number, view));
        });
    }

    /// If the storage was used, the elements are copied from it, changes included; otherwise only these are read.
    private Tensor part(int number, UnaryOperator<Tensor> view) {
        Tensor part = view.apply(tensor(number));
        Storage storage = part.storage();
        if (storage.isMeta() || storage.isMaterialized() || part.numel() == 0) {
            return RowReader.copy(view.apply(intact(number)));
        }
        return RowReader.read(part, span -> storages.read(snapshot.tensor(number).storage(), span));
    }

    /// {@return the record of a tensor, or nothing if there is none of that name}
    ///
    /// @param name its name
    public Optional<TensorRecord> record(String name) {
        return reading(() -> {
            int number = find(name);
            return number < 0 ? Optional.<TensorRecord>empty() : Optional.of(snapshot.tensor(number));
        });
    }

    /// {@return the element type of a tensor}
    ///
    /// @param tensor its record
    public DTypeRecord dtypeOf(TensorRecord tensor) {
        return reading(() -> snapshot.dtype(tensor.dtype()));
    }

    /// {@return the run that the snapshot is a shard of, if it is one}
    public Optional<SaveOptions.Run> run() {
        return reading(() -> CommitNumbers.run(snapshot));
    }

    /// A part of a tensor that is to be read into memory.
    ///
    /// @param name the name of the tensor
    /// @param view makes a view of some of its elements
    /// @param target the destination, of the shape of the view
    public record Part(String name, UnaryOperator<Tensor> view, Tensor target) {}

    /// Elements of a storage that are read together.
    private record Run(int storage, Tensor view, Tensor target) {}

    /// Reads parts of tensors, and hardly more, from a file in a store: first what is missing of it, with several
    /// requests at a time, then each part. Storages are not touched.
    ///
    /// @param parts the parts
    /// @throws IOException if bytes cannot be fetched
    public void readParts(List<Part> parts) throws IOException {
        List<Run> runs = new ArrayList<>();
        List<Piece> pieces = new ArrayList<>();
        var _ = reading(() -> {
            for (Part part : parts) {
                int number = find(part.name);
                Tensor view = part.view.apply(tensor(number));
                int storage = snapshot.tensor(number).storage();
                RowReader.denseParts(view, part.target, (some, target) -> {
                    runs.add(new Run(storage, some, target));
                    pieces.addAll(storages.pieces(storage, ElementPositions.of(some)));
                });
            }
            return runs;
        });
        MappedFile.fetch(pieces);
        for (Run run : runs) {
            var _ = reading(
                    () -> run.target.copyFrom(RowReader.read(run.view, span -> storages.read(run.storage, span))));
        }
    }

    /// {@return the number of a tensor that was chosen, or -1}
    private int find(String name) {
        if (choice != null && !choice.test(name)) {
            return -1;
        }
        int place = snapshot.findName(name, nextPlace);
        if (place < 0) {
            return -1;
        }
        nextPlace = place + 1;
        return snapshot.tensorOfName(place);
    }

    /// {@return the committed states of the file, the newest first}
    ///
    /// @throws IOException if reading fails
    public List<SnapshotInfo> snapshots() throws IOException {
        return CommitNumbers.list(newest);
    }

    /// {@return the number of bytes of the file that belong to its snapshots; an append that fails may cut off others}
    public long committedLength() {
        return newest.header().isSealed() ? file.size() : newest.commit().committedLength();
    }

    /// {@return the newest commit of the file}
    public CommitRecord newest() {
        return newest.commit();
    }

    /// {@return the committed state that these contents are}
    public SnapshotInfo snapshot() {
        return reading(() -> CommitNumbers.info(snapshot));
    }

    /// {@return the other shards, if a program of several processes saved the file as one of several}
    @Override
    public List<UnreadPart> unread() {
        return reading(() -> CommitNumbers.run(snapshot).filter(run -> run.shards() > 1)
                .map(run -> List.of(UnreadPart.ofFiles(run.shards() - 1L,
                        "this is one of the %s shards of a run".formatted(run.shards()))))
                .orElse(List.of()));
    }

    /// {@return the reason why a newer commit was skipped, if one was}
    public Optional<FormatException> skippedCommit() {
        return Optional.ofNullable(newest.skippedCommit()).map(fault -> fault.withFile(file.location()));
    }

    @Override
    public List<Damage> damages() {
        return storages.damages();
    }

    @Override
    public List<Storage> storages() {
        return reading(() -> IntStream.range(0, snapshot.storageCount()).filter(storages::isChosen)
                .mapToObj(this::storage).toList());
    }

    @Override
    public List<FileRegion> regions() {
        return reading(() -> {
            try {
                return CroftRegions.of(newest, file.size());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    @Override
    public Verification verify() throws IOException {
        Progress progress = new Progress(options.progress(), verifiedBytes());
        var found = Verifier.verify(new FileSource(file, () -> {}, progress), newest,
                storages.bases().counted(progress));
        DamageNames names = new DamageNames(newest, new StorageCheck(newest));
        List<Damage> damages = found.findings().stream().map(names::of).toList();
        if (damages.isEmpty()) {
            verifyTrees();
        }
        progress.finish();
        return new Verification(damages, found.unverifiedExtents(), found.unverifiedBytes(), missingBases());
    }

    /// Estimates the number of bytes that are read to verify the file: its size, and the bytes of the snapshot in other
    /// files.
    private long verifiedBytes() {
        long nbytes = newest.commit().committedLength();
        for (int number = 0; newest.baseCount() > 0 && number < newest.extentCount(); number++) {
            try {
                ExtentRecord extent = newest.extent(number);
                nbytes += extent.base() == ExtentRecord.THIS_FILE ? 0 : extent.storedLength();
            } catch (FormatException _) {
                // Verifying reports the error.
            }
        }
        return nbytes;
    }

    /// {@return the other files that hold bytes of this one, whether they exist or not, in the order in which it names
    /// them}
    public List<BaseFile> bases() {
        return reading(() -> IntStream.range(0, snapshot.baseCount()).mapToObj(snapshot::base)
                .map(storages.bases()::describe).toList());
    }

    /// Those of all snapshots that can be opened; problems of other snapshots are damage.
    private List<BaseFile> missingBases() throws IOException {
        Set<BaseRecord> bases = new LinkedHashSet<>();
        try {
            for (Snapshot next = newest; next != null; next = next.previous().orElse(null)) {
                for (int number = 0; number < next.baseCount(); number++) {
                    bases.add(next.base(number));
                }
            }
        } catch (FormatException _) {
            // Reported already.
        }
        return bases.stream().map(storages.bases()::describe).filter(base -> !base.isFound()).toList();
    }

    /// Comparing the names of a snapshot with those of its tree requires reading the tree.
    private void verifyTrees() throws IOException {
        for (Snapshot next = newest; next != null; next = next.previous().orElse(null)) {
            CroftContents contents = new CroftContents(file, newest, next, OpenOptions.defaults().onMeta(),
                    _ -> true);
            try {
                var _ = contents.tree.get();
                contents.requireReadable();
            } finally {
                contents.release();
            }
        }
    }

    /// Tensors of types unknown to this reader are no damage.
    private void requireReadable() {
        unreadable.values().stream().flatMap(tensor -> Unreadable.why(tensor).stream())
                .filter(why -> !why.code().equals(Rule.V13_UNSUPPORTED.code())).findFirst().ifPresent(why -> {
                    throw why;
                });
    }

    @Override
    public void scrub(Consumer<Damage> found, Runnable pulse) throws IOException {
        storages.scrub(found, pulse);
    }

    /// {@return what reads the bytes of storages from their files}
    public StorageCheck.Pass pass() {
        return storages.pass(() -> {});
    }

    /// {@return what describes damage of storages}
    public DamageNames damageNames() {
        return storages.names();
    }

    @Override
    public void release() {
        try (storages) {
            made.values().forEach(Contents::release);
        }
    }

    private <T extends @Nullable Object> T reading(Supplier<T> access) {
        return MappedAccess.guarded(file, access);
    }

    @Override
    public Tensor tensor(int number) {
        checkNumber(number, snapshot.tensorCount(), "tensor");
        Tensor existing = tensors.get(number);
        if (existing != null) {
            return existing;
        }
        TensorRecord record = snapshot.tensor(number);
        Tensor made = makeTensor(number, record, storage(record.storage()));
        Tensor first = tensors.putIfAbsent(number, made);
        return first != null ? first : made;
    }

    /// Returns the tensor for a caller that reads it: damage is thrown now.
    private Tensor intact(int number) {
        TensorRecord record = snapshot.tensor(number);
        Storage own = storage(record.storage());
        Storage storage = storages.readable(record.storage(), own, number);
        return storage == own
                ? tensor(number)
                : spared.computeIfAbsent(number, _ -> makeTensor(number, record, storage));
    }

    @Override
    public Storage storage(int number) {
        Storage existing = made.get(checkNumber(number, snapshot.storageCount(), "storage"));
        return existing != null ? existing : made.computeIfAbsent(number, storages::make);
    }

    @Override
    public DType dtype(int number) {
        DType existing = dtypes.get(checkNumber(number, snapshot.dtypeCount(), "dtype"));
        if (existing == null) {
            DTypeRecord record = snapshot.dtype(number);
            existing = DType.opaque(record.name(), record.bits());
            dtypes.put(number, existing);
        }
        return existing;
    }

    /// The tables that a tree refers to. A tensor that breaks a rule does not prevent reading the others.
    private final class TreeTables implements StateDecoder.Tables {
        private final TreeCost cost;

        TreeTables(TreeCost cost) {
            this.cost = cost;
        }

        @Override
        public Tensor tensor(int number) {
            Tensor known = unreadable.get(number);
            if (known != null) {
                return known;
            }
            try {
                return CroftContents.this.tensor(number);
            } catch (FormatException e) {
                if (number >= snapshot.tensorCount() || !OF_ONE_TENSOR.contains(e.code())) {
                    throw e;
                }
                cost.takeUnreadable();
                FormatException why = e.withFile(file.location());
                return unreadable.computeIfAbsent(number, _ -> Unreadable.tensor(why));
            }
        }

        @Override
        public Storage storage(int number) {
            return CroftContents.this.storage(number);
        }

        @Override
        public DType dtype(int number) {
            return CroftContents.this.dtype(number);
        }
    }

    private Tensor makeTensor(int number, TensorRecord record, Storage storage) {
        Set<Tensor.Flag> flags = TensorFlags.fromFile(record.flags());
        DType dtype = dtype(record.dtype());
        try {
            return Tensor
                    .of(storage, dtype,
                            ElementPositions.elementAt(record.byteOffset(), record.bitOffset(), dtype.bits()),
                            Shape.of(record.shape()),
                            record.stride())
                    .withFlags(flags);
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw Rule.V5_STRIDE_RANGE.broken("tensor " + number + " cannot be made: " + e.getMessage(),
                    FormatException.NO_OFFSET);
        }
    }

    /// {@return a tensor on another storage}
    ///
    /// @param name its name
    /// @param storage a storage of the same size as its own
    /// @throws NoSuchElementException if there is no tensor of that name
    public Tensor tensorOn(String name, Storage storage) {
        return reading(() -> {
            int number = find(name);
            if (number < 0) {
                throw new NoSuchElementException(file.location() + " has no tensor " + FormatException.quote(name));
            }
            return makeTensor(number, snapshot.tensor(number), storage);
        });
    }

    /// {@return the bytes of a storage in new memory, checked unless the policy is to check nothing}
    ///
    /// @param storage the number of the storage
    public Allocation read(int storage) {
        return reading(() -> storages.read(storage));
    }

    private Tree readTree() {
        StateTreeReader in = snapshot.tree();
        TreeCost cost = new TreeCost(in.nbytes());
        TreeTables tables = new TreeTables(cost);
        Object state = StateDecoder.decode(in, tables, cost);
        StateIndex names = StateIndex.of(state, namesWithin(snapshot.nameCount()));
        checkNames(names, tables);
        return new Tree(state, names);
    }

    /// Refuses a tree that names more tensors than the index, or by longer names than the file could contain.
    private LongConsumer namesWithin(long count) {
        return new NameLimit(count, file.size());
    }

    /// How many names there may be, and how many characters they may have together.
    private static final class NameLimit implements LongConsumer {
        private final long count;
        private final long size;
        private long names;
        private long characters;

        NameLimit(long count, long size) {
            this.count = count;
            this.size = size;
        }

        @Override
        public void accept(long length) {
            names++;
            characters += length;
            if (names > count) {
                throw Rule.V6_NAME.broken("the state tree names more tensors than the index, which has " + count,
                        FormatException.NO_OFFSET);
            }
            if (characters > size) {
                throw Rule.V6_NAME.broken("the names of the tensors in the state tree have more characters than the "
                        + size + " bytes of the file, so they are not those of the index", FormatException.NO_OFFSET);
            }
        }
    }

    /// The names in the index must be those of the tree, so that both find the same tensor.
    private void checkNames(StateIndex names, TreeTables tables) {
        if (names.tensors().size() != snapshot.nameCount()) {
            throw Rule.V6_NAME.broken(
                    "the state tree names " + names.tensors().size() + " tensors, the index " + snapshot.nameCount(),
                    FormatException.NO_OFFSET);
        }
        int place = -1;
        for (Map.Entry<String, Tensor> entry : names.tensors().entrySet()) {
            String name = entry.getKey();
            place = snapshot.findName(name, place + 1);
            if (place < 0 || tables.tensor(snapshot.tensorOfName(place)) != entry.getValue()) {
                throw Rule.V6_NAME.broken(
                        "the name '" + FormatException.quote(name)
                                + "' means another tensor in the index than in the state tree",
                        FormatException.NO_OFFSET);
            }
        }
    }

    private static int checkNumber(int number, int count, String what) {
        if (number >= count) {
            throw Rule.V10_INDEX.broken("the state tree means " + what + " " + number + " of " + count,
                    FormatException.NO_OFFSET);
        }
        return number;
    }
}
