package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Checksums;
import io.undercroft.format.internal.Coding;
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
import io.undercroft.mmap.Piece;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.mmap.Piece.ZeroPiece;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.loading.CheckedInput;
import io.undercroft.serializer.internal.loading.CheckedRun;
import io.undercroft.serializer.internal.loading.CodedPiece;
import io.undercroft.serializer.internal.loading.DeviceSource;
import io.undercroft.serializer.internal.loading.PieceReader;
import io.undercroft.serializer.internal.loading.IncrementalChecksum;
import io.undercroft.serializer.internal.loading.IncrementalChecksum.Kind;
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
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
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
    private final PieceReader reader;
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
        this.reader = new PieceReader(file, options);
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
            if (!isCheckedLater && source(number).isCheckedWhenTouched()) {
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
        return MappedAccess.allocated(file, () -> source(number).read());
    }

    /// Reads a part of a storage into new memory, and checks the chunks that cover it if the policy requires it.
    ///
    /// @param number the number of the storage
    /// @param part the bytes of it
    /// @return these bytes
    /// @throws FormatException by rule V14 if a chunk is damaged
    Allocation read(int number, Span part) {
        return MappedAccess.allocated(file, () -> source(number).read(part));
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
            super(reader, device, record.nbytes());
            this.number = number;
            this.record = record;
        }

        @Override
        protected DeviceMemory memory() {
            return DeviceSource.memoryOf(device(), "CROFT-DEVICE", "storage " + number + " is");
        }

        private List<ExtentRecord> records() {
            return snapshot.extents(number);
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
                    all.add(new Extent(start, extent.length(), place, 0, extent.fileOffset(), extent.storedLength(),
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
                            runs.addAll(Piece.files(List.of(piece(extent, 0, extent.length()))));
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
                    pieces.add(piece(extent, from - start, to - from));
                }
                start = end;
            }
            return pieces;
        }

        private Piece piece(ExtentRecord extent, long from, long length) {
            if (extent.kind() == ExtentKind.ZERO) {
                return new ZeroPiece(length);
            }
            MappedFile there = fileOf(extent.base());
            Coding coding = extent.coding();
            if (coding == null) {
                return there.piece(extent.fileOffset() + from, length);
            }
            FilePiece reference = coding.hasReference()
                    ? fileOf(coding.referenceBase()).piece(coding.referenceOffset(), extent.length())
                    : null;
            return new CodedPiece(coding, there.piece(extent.fileOffset(), coding.length()), reference,
                    extent.length(), from, length, options.checksums() != ChecksumPolicy.NONE);
        }

        @Override
        protected boolean isMappable() {
            return records().stream().allMatch(extent -> extent.coding() == null);
        }

        /// Returns whether the bytes are mapped, or copied, for the storage alone. A few stored bytes can be those of
        /// very many storages, so they are released when their [borrower][Storage#borrow] closes them.
        boolean isMappedApart() {
            return device().isCpu() && !options.isInMemory() && file.mode() != MapMode.SHARED && record.nbytes() > 0
                    && !isWindow();
        }

        @Override
        protected boolean isCheckedWhenTouched() {
            return options.checksums() == ChecksumPolicy.WHEN_READ_WHOLE
                    ? snapshot.baseCount() > 0
                            && records().stream().anyMatch(extent -> extent.kind() == ExtentKind.FOREIGN)
                    : super.isCheckedWhenTouched();
        }

        @Override
        protected Optional<List<Piece>> pieces() {
            checkKnown();
            return Optional.of(pieces(new Span(0, record.nbytes())));
        }

        @Override
        protected Optional<Supplier<List<CheckedRun>>> checks() {
            Map<Integer, MappedFile> files = new HashMap<>();
            for (ExtentRecord extent : records()) {
                if (extent.kind() != ExtentKind.ZERO && !files.containsKey(extent.base())) {
                    files.put(extent.base(), fileOf(extent.base()));
                }
            }
            // The allocation of the storage references them, so they must not reference these storages.
            int storage = number;
            Snapshot opened = snapshot;
            StorageCheck table = check;
            Set<Damage> met = metInParts;
            String location = file.location();
            return Optional.of(() -> {
                DamageNames names = new DamageNames(opened, table);
                return table.table(storage).stream()
                        .<CheckedRun>map(chunk -> new CheckedChunk(chunk, files, names, met, location)).toList();
            });
        }

        private void checkKnown() {
            Suspect known = damaged.get(number);
            if (known != null) {
                throw names().refusal(known.chunks);
            }
        }

        @Override
        protected FormatException refusal(List<Integer> damagedRuns, Allocation bytes) {
            List<StorageChunk> all = check.table(number);
            List<StorageChunk> chunks = damagedRuns.stream().map(all::get).toList();
            damaged.put(number, new Suspect(chunks, Storage.over(bytes, device())));
            return names().refusal(chunks);
        }

        @Override
        public Allocation get() {
            return MappedAccess.allocated(file, () -> {
                checkKnown();
                if (!options.isInMemory() && file.mode() == MapMode.SHARED) {
                    records().forEach(CroftStorages::checkWritable);
                }
                if (cache.isEmpty()) {
                    return super.get();
                }
                List<ExtentRecord> fetched = cache.get().supply(records(), CroftStorages.this::fileOf);
                Allocation bytes = super.get();
                try {
                    cache.get().keep(records(), fetched, bytes.segment());
                    return bytes;
                } catch (Throwable e) {
                    bytes.free();
                    throw e;
                }
            });
        }

        Allocation read(Span part) {
            // What is decoded is checked, as what it is decoded from may be in another file.
            boolean checks = isCheckedWhenTouched()
                    || (options.checksums() != ChecksumPolicy.NONE && !isMappable());
            List<StorageChunk> chunks = checks ? check.table(number, part) : List.of();
            // All of each chunk is read, as its checksum is that of all of it.
            Span around = chunks.stream().map(chunk -> new Span(chunk.start(), chunk.end())).reduce(part, Span::and);
            CheckedInput input = new CheckedInput(pieces(around),
                    chunks.stream().map(chunk -> sum(chunk, around.start())).toList(), options.memory().isPresent());
            Allocation bytes = reader.copy(input);
            List<StorageChunk> hit = input.damaged().stream().map(chunks::get).toList();
            if (!hit.isEmpty()) {
                bytes.free();
                names().damages(hit).forEach(metInParts::add);
                throw names().refusal(hit);
            }
            MemorySegment wanted = bytes.segment().asSlice(part.start() - around.start(), part.end() - part.start());
            return new Allocation(wanted, bytes.sharing(), null, bytes::free);
        }

        @Override
        protected boolean isWindow() {
            return CroftStorages.isWindow(records());
        }
    }

    /// @param start the byte of the storage that the bytes to be read start with
    private static IncrementalChecksum sum(StorageChunk chunk, long start) {
        return new IncrementalChecksum(Kind.CRC32C, chunk.start() - start, chunk.length(), chunk.checksum());
    }

    /// A chunk of a storage with its checksum.
    ///
    /// @param chunk the chunk
    /// @param files the files that contain chunks, by their numbers; each is open for as long as the storage is mapped
    /// @param names describes its damage
    /// @param met receives its damage
    /// @param location the name of the file that has the storage
    private record CheckedChunk(StorageChunk chunk, Map<Integer, MappedFile> files, DamageNames names,
            Set<Damage> met, String location) implements CheckedRun {
        @Override
        public long start() {
            return chunk.start();
        }

        @Override
        public long end() {
            return chunk.end();
        }

        @Override
        public IncrementalChecksum checksum() {
            return sum(chunk, 0);
        }

        @Override
        public boolean matches(long from, long to, int crc32c) {
            return chunk.start() == from && chunk.end() == to && chunk.checksum() == crc32c;
        }

        @Override
        public boolean isIntact(MemorySegment mapped) throws IOException {
            return Checksums.crc32c(mapped) == chunk.checksum() || StorageCheck.isIntact(chunk,
                    new FileSource(Objects.requireNonNull(files.get(chunk.base()))));
        }

        @Override
        public RuntimeException refusal() {
            names.damages(List.of(chunk)).forEach(met::add);
            return names.refusal(List.of(chunk)).withFile(location);
        }
    }

    /// {@return whether extents are one run of a file, and no other storage has a byte of it}
    private static boolean isWindow(List<ExtentRecord> extents) {
        ExtentRecord before = null;
        for (ExtentRecord extent : extents) {
            boolean follows = before == null || (extent.base() == before.base()
                    && extent.fileOffset() == before.fileOffset() + before.length());
            if (!follows || extent.kind() == ExtentKind.ZERO || extent.isShared() || extent.coding() != null) {
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
        if (extent.coding() != null) {
            throw notWritable("it is partly compressed");
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
