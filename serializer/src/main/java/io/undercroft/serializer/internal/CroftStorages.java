package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.Span;
import io.undercroft.format.internal.StorageCheck;
import io.undercroft.format.internal.StorageChunk;
import io.undercroft.format.internal.StorageRecord;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Pages;
import io.undercroft.mmap.Piece;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.mmap.Piece.ZeroPiece;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.loading.CheckedInput;
import io.undercroft.serializer.internal.loading.DeviceSource;
import io.undercroft.serializer.internal.loading.PieceReader;
import io.undercroft.serializer.internal.loading.RunChecksum;
import io.undercroft.serializer.internal.loading.RunChecksum.Kind;
import io.undercroft.serializer.internal.loading.StoredBytes;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.SparseSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The storages of a `.croft` file: each is mapped, read or loaded to a device, and checked if the policy requires it,
/// when a byte of it is accessed. Safe for any thread.
///
/// A damaged storage throws on each access to its bytes. From then on, unaffected tensors use a second storage with the
/// same bytes, since a storage does not know which tensor is read.
final class CroftStorages implements AutoCloseable {
    private final MappedFile file;
    private final Snapshot snapshot;
    private final OpenOptions options;
    /// Whether a tensor is loaded, by its name; null if all are.
    private final @Nullable Predicate<String> choice;
    private final Bases bases;
    private final StorageCheck check;
    private final Optional<ExtentCache.Use> cache;
    private final PieceReader memory;
    /// The storages that chosen tensors use; null if all tensors are chosen, or the names were not read yet.
    private @Nullable BitSet chosen;
    private final Map<Integer, Suspect> damaged = new ConcurrentSkipListMap<>();
    /// Damage of storages that were only read in part.
    private final Set<Damage> metInParts = ConcurrentHashMap.newKeySet();

    /// The damaged chunks of a storage, and a storage for the intact tensors on it.
    private record Suspect(List<StorageChunk> chunks, Storage readable) {}

    CroftStorages(MappedFile file, Snapshot snapshot, OpenOptions options, @Nullable Predicate<String> choice,
            Bases bases) throws IOException {
        this.file = file;
        this.snapshot = snapshot;
        this.options = options;
        this.choice = choice;
        this.bases = bases;
        this.check = new StorageCheck(snapshot);
        this.memory = new PieceReader(file, options);
        // Without settings, its classes are not loaded.
        this.cache = options.settings().isEmpty() ? Optional.empty() : ExtentCache.Use.of(options);
    }

    /// {@return whether a tensor that was chosen uses a storage} If not all tensors are chosen, the names are read
    /// once.
    ///
    /// @param number the number of the storage
    boolean isChosen(int number) {
        return choice == null || chosen(choice).get(number);
    }

    private synchronized BitSet chosen(Predicate<String> choice) {
        if (chosen == null) {
            BitSet found = new BitSet();
            for (int name = 0; name < snapshot.nameCount(); name++) {
                try {
                    if (choice.test(snapshot.name(name))) {
                        found.set(snapshot.tensor(snapshot.tensorOfName(name)).storage());
                    }
                } catch (FormatException _) {
                    // Reading that tensor throws it again.
                }
            }
            chosen = found;
        }
        return chosen;
    }

    /// {@return a new storage}
    ///
    /// @param number its number, less than their count
    Storage make(int number) {
        StorageRecord record = snapshot.storage(number);
        Device device = options.deviceFor(savedDevice(record));
        Source source = new Source(number, record, isChosen(number) ? device : Device.META);
        return source.storage(source.isMappedApart());
    }

    private static Device savedDevice(StorageRecord record) {
        try {
            return Device.parse(record.device());
        } catch (IllegalArgumentException _) {
            throw Rule.V15_STRUCTURE.broken("a storage has the device '" + FormatException.quote(record.device()) + "'",
                    FormatException.NO_OFFSET);
        }
    }

    /// {@return a storage on which a tensor can be read} The storage is checked now, if the policy requires it.
    ///
    /// @param number the number of the storage
    /// @param storage that storage
    /// @param tensor the tensor
    /// @throws FormatException by rule V14 if the tensor is damaged
    Storage readable(int number, Storage storage, int tensor) {
        checkNow(number, storage);
        Suspect suspect = damaged.get(number);
        if (suspect == null) {
            return storage;
        }
        if (names().isHit(suspect.chunks, tensor)) {
            throw names().refusal(suspect.chunks);
        }
        return suspect.readable;
    }

    /// Checks a storage, if the policy requires it. Storages for devices are uploaded together when the file is opened.
    ///
    /// @param number the number of the storage
    /// @param storage that storage
    void checkNow(int number, Storage storage) {
        if (options.checksums() == ChecksumPolicy.NONE || damaged.containsKey(number)) {
            return;
        }
        boolean isCheckedLater = storage.isMaterialized() || storage.isMeta()
                || (options.isInMemory() && !storage.device().isCpu());
        try {
            if (!isCheckedLater && source(number).isToBeChecked()) {
                var _ = storage.materialize();
            }
        } catch (FormatException | UnsupportedOperationException _) {
            // Reading its bytes throws it again.
        }
    }

    /// {@return the other files in which bytes are, for verifying}
    Bases bases() {
        return bases;
    }

    /// {@return the damage found so far}
    List<Damage> damages() {
        Stream<Damage> whole = damaged.values().stream().flatMap(suspect -> names().damages(suspect.chunks));
        return Stream.concat(whole, metInParts.stream()).distinct().toList();
    }

    /// Reads the bytes of all storages from their files. Files that cannot be found are left out.
    ///
    /// @param found called with each damage
    /// @param pulse run before every read; what it throws ends the work
    /// @throws IOException if reading fails
    void scrub(Consumer<Damage> found, Runnable pulse) throws IOException {
        StorageCheck.Pass pass = pass(pulse);
        DamageNames names = names();
        for (int number = 0; number < snapshot.storageCount(); number++) {
            try {
                names.damages(pass.damaged(number)).forEach(found);
            } catch (FormatException e) {
                found.accept(Damage.of("storage " + number, 0, e));
            }
        }
    }

    /// {@return what describes damage of storages}
    DamageNames names() {
        return new DamageNames(snapshot, check);
    }

    /// {@return what reads the bytes of storages from their files} Those in files that cannot be found are left out.
    ///
    /// @param pulse run before every read; what it throws ends the work
    StorageCheck.Pass pass(Runnable pulse) {
        return check.pass(base -> {
            try {
                return Optional.of(new FileSource(fileOf(base), pulse, null));
            } catch (FormatException _) {
                return Optional.empty();
            }
        });
    }

    /// Releases the storages of intact tensors on damaged ones, and closes the other files. Those that are still
    /// referenced are mapped now.
    @Override
    public void close() {
        try (bases) {
            if (!damaged.isEmpty()) {
                damaged.values().forEach(suspect -> Contents.release(suspect.readable));
            }
        }
    }

    /// Reads a whole storage into new memory, and checks it unless the policy is to check nothing.
    ///
    /// @param number the number of the storage
    /// @return its bytes, which do not depend on the file
    /// @throws FormatException by rule V14 if a chunk is damaged
    Allocation read(int number) {
        return MappedAccess.guarded(file, () -> source(number).read());
    }

    /// Reads a part of a storage into new memory, and checks the chunks that cover it if the policy requires it.
    ///
    /// @param number the number of the storage
    /// @param part the bytes of it
    /// @return these bytes
    /// @throws FormatException by rule V14 if a chunk is damaged
    Allocation read(int number, Span part) {
        return MappedAccess.guarded(file, () -> source(number).read(part));
    }

    /// {@return the pieces of files that are a part of a storage}
    ///
    /// @param number the number of the storage
    /// @param part the bytes of it
    List<Piece> pieces(int number, Span part) {
        return source(number).pieces(part);
    }

    private Source source(int number) {
        return new Source(number, snapshot.storage(number), Device.CPU);
    }

    private MappedFile fileOf(int base) {
        return base == ExtentRecord.THIS_FILE ? file : bases.file(snapshot.base(base - 1));
    }

    /// The bytes of one storage.
    private final class Source extends StoredBytes implements SparseSource {
        private final int number;
        private final StorageRecord record;

        Source(int number, StorageRecord record, Device device) {
            super(CroftStorages.this.file, CroftStorages.this.options, device, record.nbytes());
            this.number = number;
            this.record = record;
        }

        @Override
        protected DeviceMemory memory() {
            return DeviceSource.memoryOf(device(), "CROFT-DEVICE", "storage " + number + " is");
        }

        private List<ExtentRecord> records() {
            List<ExtentRecord> extents = new ArrayList<>(record.extentCount());
            for (int i = 0; i < record.extentCount(); i++) {
                extents.add(snapshot.extent(record.firstExtent() + i));
            }
            return extents;
        }

        @Override
        public List<Extent> extents() {
            return MappedAccess.guarded(file, () -> {
                List<Extent> all = new ArrayList<>();
                long start = 0;
                for (ExtentRecord extent : records()) {
                    Extent.Place place = extent.kind() == ExtentKind.ZERO
                            ? Extent.Place.NOWHERE
                            : extent.base() == ExtentRecord.THIS_FILE ? Extent.Place.FILE : Extent.Place.BASE;
                    all.add(new Extent(start, extent.length(), place, 0, extent.fileOffset(),
                            place == Extent.Place.NOWHERE ? Optional.empty() : Optional.of(extent.digest())));
                    start += extent.length();
                }
                return all;
            });
        }

        /// Without those that are in the cache of this host, and those in files that cannot be found.
        @Override
        public List<FilePiece> runs() {
            return MappedAccess.guarded(file, () -> {
                List<FilePiece> runs = new ArrayList<>();
                for (ExtentRecord extent : records()) {
                    if (extent.kind() != ExtentKind.ZERO && cache.filter(use -> use.has(extent)).isEmpty()) {
                        try {
                            runs.add(fileOf(extent.base()).piece(extent.fileOffset(), extent.length()));
                        } catch (FormatException _) {
                            // Thrown again when the storage is touched.
                        }
                    }
                }
                return runs;
            });
        }

        @Override
        public List<Zeros> zeros() {
            List<Zeros> zeros = new ArrayList<>();
            long start = 0;
            for (ExtentRecord extent : records()) {
                long end = start + extent.length();
                if (extent.kind() == ExtentKind.ZERO) {
                    boolean follows = !zeros.isEmpty() && zeros.getLast().end() == start;
                    zeros.add(new Zeros(follows ? zeros.removeLast().start() : start, end));
                }
                start = end;
            }
            return zeros;
        }

        List<Piece> pieces(Span part) {
            List<Piece> pieces = new ArrayList<>();
            long start = 0;
            for (ExtentRecord extent : records()) {
                long end = start + extent.length();
                long from = Math.max(part.start(), start);
                long to = Math.min(part.end(), end);
                if (from < to) {
                    pieces.add(extent.kind() == ExtentKind.ZERO
                            ? new ZeroPiece(to - from)
                            : fileOf(extent.base()).piece(extent.fileOffset() + from - start, to - from));
                }
                start = end;
            }
            return pieces;
        }

        private Span whole() {
            return new Span(0, record.nbytes());
        }

        /// Returns whether the bytes are mapped, or copied, for the storage alone. A few stored bytes can be those of
        /// very many storages, so they are released after each [loan][Storage#borrow].
        boolean isMappedApart() {
            return device().isCpu() && !options.isInMemory() && file.mode() != MapMode.SHARED && record.nbytes() > 0
                    && !isWindow(records());
        }

        boolean isToBeChecked() {
            return switch (options.checksums()) {
                case NONE -> false;
                case WHEN_READ_WHOLE -> snapshot.baseCount() > 0
                        && records().stream().anyMatch(extent -> extent.kind() == ExtentKind.FOREIGN);
                case ON_TOUCH, EAGER -> true;
            };
        }

        /// {@return whether bytes of the storage travel over a network, so that they are checked when they arrive} A
        /// file of the host has none in stores.
        private boolean isFetched() {
            return file.source().isPresent() && options.checksums() != ChecksumPolicy.NONE && records().stream()
                    .anyMatch(extent -> extent.kind() != ExtentKind.ZERO
                            && fileOf(extent.base()).source().isPresent());
        }

        @Override
        protected Optional<CheckedInput> input() {
            checkKnown();
            List<RunChecksum> runs = options.checksums() == ChecksumPolicy.NONE
                    ? List.of()
                    : check.table(number).stream().map(chunk -> new RunChecksum(Kind.CRC32C, chunk.start(),
                            chunk.length(), chunk.checksum())).toList();
            return Optional.of(new CheckedInput(pieces(whole()), runs,
                    device().isCpu() && options.memory().isPresent()));
        }

        @Override
        protected FormatException refusal(List<Integer> damagedRuns, Allocation bytes) {
            List<StorageChunk> chunks = check.table(number);
            return refusalOf(damagedRuns.stream().map(chunks::get).toList(),
                    Storage.over(DeviceSource.withAccess(options, bytes), device()));
        }

        /// Records damage.
        private FormatException refusalOf(List<StorageChunk> chunks, Storage readable) {
            damaged.put(number, new Suspect(chunks, readable));
            return names().refusal(chunks);
        }

        private void checkKnown() {
            Suspect known = damaged.get(number);
            if (known != null) {
                throw names().refusal(known.chunks);
            }
        }

        @Override
        public Allocation get() {
            return MappedAccess.guarded(file, () -> {
                checkKnown();
                if (cache.isEmpty()) {
                    return allocate();
                }
                List<ExtentRecord> fetched = cache.get().supply(records(), CroftStorages.this::fileOf);
                Allocation bytes = allocate();
                cache.get().keep(records(), fetched, bytes.segment());
                return bytes;
            });
        }

        private Allocation allocate() {
            if (options.isInMemory()) {
                return read();
            }
            boolean checksNow = isToBeChecked() || isFetched();
            Allocation bytes = checkable(map());
            List<StorageChunk> chunks = checksNow ? compare(whole(), bytes, true) : List.of();
            if (!chunks.isEmpty()) {
                throw refusalOf(chunks, Storage.over(bytes));
            }
            if (checksNow && bytes.backing().orElse(null) instanceof CheckedBytes checked) {
                checked.setCompared();
            }
            return bytes;
        }

        Allocation read() {
            CheckedInput input = input().orElseThrow();
            return checked(input, memory.read(input));
        }

        Allocation read(Span part) {
            boolean checks = isToBeChecked();
            Span around = checks ? check.chunksAround(number, part) : part;
            Allocation bytes = memory.copy(new CheckedInput(pieces(around), List.of(), false));
            List<StorageChunk> chunks = checks ? compare(around, bytes, false) : List.of();
            if (!chunks.isEmpty()) {
                bytes.free();
                names().damages(chunks).forEach(metInParts::add);
                throw names().refusal(chunks);
            }
            MemorySegment wanted = bytes.segment().asSlice(part.start() - around.start(), part.end() - part.start());
            return new Allocation(wanted, bytes.sharing(), null, bytes::free);
        }

        /// Checks bytes of the storage that were mapped or read, and frees them if that fails.
        ///
        /// @param isMapped whether its bytes may be those of a mapped file, as they may be in memory of the caller's
        ///     choice
        private List<StorageChunk> compare(Span part, Allocation bytes, boolean isMapped) {
            try {
                return isMapped || options.memory().isPresent()
                        ? Pages.guard(bytes.segment(), () -> check.mapped(number, part, bytes.segment()))
                        : check.inMemory(number, part, bytes.segment());
            } catch (Throwable e) {
                bytes.free();
                throw e;
            }
        }

        /// A storage that is one run of the file is a window on the common mapping, unless another storage has some of
        /// the same bytes. Otherwise it has a separate mapping or copy, so that writes to one storage are not visible
        /// in another.
        private Allocation map() {
            List<ExtentRecord> extents = records();
            if (file.mode() == MapMode.SHARED) {
                extents.forEach(CroftStorages::checkWritable);
            }
            return isWindow(extents)
                    ? fileOf(extents.getFirst().base()).window(extents.getFirst().fileOffset(), record.nbytes())
                    : file.allocation(pieces(whole()));
        }

        /// Adds the checksums to a mapped storage, for operations that read all of it. With a shared mapping, bytes
        /// change in the file and are not checked.
        private Allocation checkable(Allocation mapped) {
            if (options.checksums() == ChecksumPolicy.NONE || file.mode() == MapMode.SHARED) {
                return mapped;
            }
            try {
                Map<Integer, MappedFile> files = new HashMap<>();
                for (ExtentRecord extent : records()) {
                    if (extent.kind() != ExtentKind.ZERO && !files.containsKey(extent.base())) {
                        files.put(extent.base(), fileOf(extent.base()));
                    }
                }
                MappedFile held = file.retain();
                return new Allocation(mapped.segment(), mapped.sharing(), mapped.filename().orElse(null), () -> {
                    mapped.free();
                    held.close();
                }).withBacking(new CheckedBytes(number, check, held, files, mapped, refusals()));
            } catch (Throwable e) {
                mapped.free();
                throw e;
            }
        }
    }

    /// Refuses damaged chunks. The allocation of a storage references it, so it must not reference the storages: they
    /// would never be collected.
    private Function<StorageChunk, FormatException> refusals() {
        Snapshot opened = snapshot;
        StorageCheck checks = check;
        Set<Damage> met = metInParts;
        String name = file.location();
        return chunk -> {
            DamageNames named = new DamageNames(opened, checks);
            List<StorageChunk> chunks = List.of(chunk);
            named.damages(chunks).forEach(met::add);
            return named.refusal(chunks).withFile(name);
        };
    }

    /// {@return whether extents are one run of a file, and no other storage has a byte of it}
    private static boolean isWindow(List<ExtentRecord> extents) {
        ExtentRecord before = null;
        for (ExtentRecord extent : extents) {
            boolean follows = before == null || (extent.base() == before.base()
                    && extent.fileOffset() == before.fileOffset() + before.length());
            if (!follows || extent.kind() == ExtentKind.ZERO || extent.isShared()) {
                return false;
            }
            before = extent;
        }
        return before != null;
    }

    private static void checkWritable(ExtentRecord extent) {
        if (extent.base() != ExtentRecord.THIS_FILE) {
            throw notWritable("it is partly in another file");
        }
        if (extent.kind() == ExtentKind.ZERO) {
            throw notWritable("it is partly zeros that have no place in the file");
        }
        if (extent.isShared()) {
            throw notWritable(
                    "it has bytes of the file in common with another one, and writing to one would show in the other");
        }
    }

    private static UnsupportedOperationException notWritable(String why) {
        return new UnsupportedOperationException(
                "a storage cannot be mapped shared: " + why + "; open the file copy-on-write");
    }
}
