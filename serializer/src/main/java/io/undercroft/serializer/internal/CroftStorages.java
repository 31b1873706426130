package io.undercroft.serializer.internal;

import io.undercroft.serializer.internal.loading.StoredBytes;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.ByteSource;
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
import io.undercroft.serializer.internal.loading.ChosenStorages;
import io.undercroft.serializer.internal.loading.DeviceContent;
import io.undercroft.serializer.internal.loading.DeviceContent.Stored;
import io.undercroft.serializer.internal.loading.DeviceSource;
import io.undercroft.serializer.internal.loading.PieceInput;
import io.undercroft.serializer.internal.loading.PieceReader;
import io.undercroft.serializer.internal.loading.RunChecksum;
import io.undercroft.serializer.internal.loading.RunChecksums;
import io.undercroft.serializer.internal.loading.RunChecksum.Kind;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.SparseSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/// The storages of a `.croft` file: each is made on request, and mapped, and checked if the policy requires it, when a
/// byte of it is accessed. Safe for any thread.
///
/// A damaged storage throws on each access to its bytes. From then on, unaffected tensors use a second storage with the
/// same bytes, since a storage does not know which tensor is read.
final class CroftStorages implements AutoCloseable {
    private final MappedFile file;
    private final Snapshot snapshot;
    private final OpenOptions options;
    private final Bases bases;
    private final StorageCheck check;
    private final ChosenStorages chosen;
    private final Optional<ExtentCache.Use> cache;
    private final PieceReader memory;
    private final Map<Integer, Suspect> damaged = new ConcurrentSkipListMap<>();
    /// Damage of storages that were only read in part.
    private final Set<Damage> metInParts = ConcurrentHashMap.newKeySet();

    /// A damaged storage, and one for the intact tensors on it.
    private record Suspect(DamagedStorage damage, Storage readable) {}

    CroftStorages(MappedFile file, Snapshot snapshot, OpenOptions options, Bases bases) throws IOException {
        this.file = file;
        this.snapshot = snapshot;
        this.options = options;
        this.bases = bases;
        this.check = new StorageCheck(snapshot);
        this.chosen = new ChosenStorages(snapshot, options);
        this.memory = new PieceReader(file, options);
        // Without settings, its classes are not loaded.
        this.cache = options.settings().isEmpty() ? Optional.empty() : ExtentCache.Use.of(options);
    }

    /// {@return whether a tensor that was chosen uses a storage}
    ///
    /// @param number the number of the storage
    boolean isChosen(int number) {
        return chosen.contains(number);
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
        if (suspect.damage.hits(tensor)) {
            throw suspect.damage.refusal();
        }
        return suspect.readable;
    }

    /// {@return the other files in which bytes are, for verifying}
    Bases bases() {
        return bases;
    }

    /// {@return the damage found so far}
    List<Damage> damages() {
        Stream<Damage> whole = damaged.values().stream().flatMap(suspect -> suspect.damage.damages());
        return Stream.concat(whole, metInParts.stream()).distinct().toList();
    }

    /// Reads the bytes of all storages from their files. Files that cannot be found are left out.
    ///
    /// @param found called with each damage
    /// @param pulse run before every read; what it throws ends the work
    /// @throws IOException if reading fails
    void scrub(Consumer<Damage> found, Runnable pulse) throws IOException {
        StorageCheck.Pass pass = pass(pulse);
        for (int number = 0; number < snapshot.storageCount(); number++) {
            damages(number, pass).forEach(found);
        }
    }

    private List<Damage> damages(int number, StorageCheck.Pass pass) throws IOException {
        try {
            return check(number, pass).map(damage -> damage.damages().toList()).orElse(List.of());
        } catch (FormatException e) {
            return List.of(Damage.of("storage " + number, 0, e));
        }
    }

    /// {@return the damage of a storage, as its bytes are in files} Those in files that cannot be found are left out.
    ///
    /// @param number the number of the storage
    /// @param pass what reads the storages
    /// @throws IOException if reading fails
    Optional<DamagedStorage> check(int number, StorageCheck.Pass pass) throws IOException {
        List<StorageChunk> chunks = pass.damaged(number);
        return chunks.isEmpty() ? Optional.empty() : Optional.of(damaged(chunks));
    }

    /// {@return what reads the bytes of storages from their files}
    ///
    /// @param pulse run before every read; what it throws ends the work
    StorageCheck.Pass pass(Runnable pulse) {
        return check.pass(base -> source(base, pulse));
    }

    private DamagedStorage damaged(List<StorageChunk> chunks) {
        return damaged(snapshot, check, chunks);
    }

    private static DamagedStorage damaged(Snapshot snapshot, StorageCheck check, List<StorageChunk> chunks) {
        return new DamagedStorage(snapshot, chunks, check.spans(chunks.getFirst().storage()));
    }

    private Optional<ByteSource> source(int base, Runnable pulse) {
        try {
            return Optional.of(new FileSource(fileOf(base), pulse));
        } catch (FormatException _) {
            return Optional.empty();
        }
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

    /// Checks a storage, if the policy requires it.
    ///
    /// @param number the number of the storage
    /// @param storage that storage
    void checkNow(int number, Storage storage) {
        if (options.checksums() == ChecksumPolicy.NONE || damaged.containsKey(number)) {
            return;
        }
        try {
            if (isToBeChecked(snapshot.storage(number)) && !isCheckedLater(storage)) {
                var _ = storage.materialize();
            }
        } catch (FormatException | UnsupportedOperationException _) {
            // Reading its bytes throws it again.
        }
    }

    /// Storages for devices are uploaded together when the file is opened.
    private boolean isCheckedLater(Storage storage) {
        return storage.isMaterialized() || storage.isMeta()
                || (options.isInMemory() && !storage.device().isCpu());
    }

    /// {@return whether bytes of a storage travel over a network, so that they are checked when they arrive} A file of
    /// the host has none in stores.
    private boolean isFetched(StorageRecord record) {
        return file.source().isPresent() && options.checksums() != ChecksumPolicy.NONE && extents(record).stream()
                .anyMatch(extent -> extent.kind() != ExtentKind.ZERO && fileOf(extent.base()).source().isPresent());
    }

    private boolean isToBeChecked(StorageRecord record) {
        return switch (options.checksums()) {
            case NONE -> false;
            case WHEN_READ_WHOLE -> snapshot.baseCount() > 0
                    && extents(record).stream().anyMatch(extent -> extent.kind() == ExtentKind.FOREIGN);
            case ON_TOUCH, EAGER -> true;
        };
    }

    /// {@return a new storage}
    ///
    /// @param number its number, less than their count
    Storage make(int number) {
        StorageRecord record = snapshot.storage(number);
        Device device = options.deviceFor(savedDevice(record));
        Source source = new Source(this, number, record);
        if (device.isMeta() || !chosen.contains(number)) {
            return Storage.meta(record.nbytes(), source);
        }
        if (!device.isCpu()) {
            DeviceMemory memory = memoryOf(number, device);
            return DeviceSource.storage(file, source, options, memory, record.nbytes(),
                    () -> MappedAccess.guarded(file, () -> content(number, record, memory)));
        }
        return isMappedApart(record)
                ? Storage.decoded(record.nbytes(), source, source)
                : Storage.deferred(record.nbytes(), source, source);
    }

    /// Returns whether the bytes of a storage are mapped, or copied, for it alone. A few stored bytes can be those of
    /// very many storages, so they are released after each [loan][Storage#borrow].
    private boolean isMappedApart(StorageRecord record) {
        return !options.isInMemory() && file.mode() != MapMode.SHARED && record.nbytes() > 0
                && !isWindow(extents(record));
    }

    private static final class Source extends StoredBytes implements SparseSource {
        private final CroftStorages of;
        private final int number;
        private final StorageRecord record;

        Source(CroftStorages of, int number, StorageRecord record) {
            super(of.file);
            this.of = of;
            this.number = number;
            this.record = record;
        }

        @Override
        public List<Extent> extents() {
            return MappedAccess.guarded(of.file, () -> {
                List<Extent> all = new ArrayList<>();
                long start = 0;
                for (ExtentRecord extent : of.extents(record)) {
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
            return MappedAccess.guarded(of.file, () -> {
                List<FilePiece> runs = new ArrayList<>();
                for (ExtentRecord extent : of.extents(record)) {
                    if (extent.kind() != ExtentKind.ZERO && of.cache.filter(use -> use.has(extent)).isEmpty()) {
                        try {
                            runs.add(of.fileOf(extent.base()).piece(extent.fileOffset(), extent.length()));
                        } catch (FormatException _) {
                            // Thrown again when the storage is touched.
                        }
                    }
                }
                return runs;
            });
        }

        @Override
        public Allocation get() {
            return MappedAccess.guarded(of.file, () -> of.allocate(number, record));
        }

        @Override
        public List<Zeros> zeros() {
            List<Zeros> zeros = new ArrayList<>();
            long start = 0;
            for (ExtentRecord extent : of.extents(record)) {
                long end = start + extent.length();
                if (extent.kind() == ExtentKind.ZERO) {
                    boolean follows = !zeros.isEmpty() && zeros.getLast().end() == start;
                    zeros.add(new Zeros(follows ? zeros.removeLast().start() : start, end));
                }
                start = end;
            }
            return zeros;
        }
    }

    private static DeviceMemory memoryOf(int number, Device device) {
        return DeviceSource.memoryOf(device, "CROFT-DEVICE", "storage " + number + " is");
    }

    /// Storages that are uploaded are read as a whole, and checked in the buffers.
    private DeviceContent content(int number, StorageRecord record, DeviceMemory memory) {
        checkKnown(number);
        List<StorageChunk> chunks = options.checksums() == ChecksumPolicy.NONE ? List.of() : check.table(number);
        List<RunChecksum> runs = chunks.stream()
                .map(chunk -> new RunChecksum(Kind.CRC32C, chunk.start(), chunk.length(), chunk.checksum())).toList();
        return new Stored(new PieceInput(pieces(extents(record))), runs,
                (damaged, bytes) -> MappedAccess.guarded(file, () -> uploaded(number, memory,
                        damaged.stream().map(chunk -> chunks.get(chunk)).toList(), bytes)));
    }

    private Allocation uploaded(int number, DeviceMemory memory, List<StorageChunk> damagedChunks, Allocation bytes) {
        if (damagedChunks.isEmpty()) {
            return bytes;
        }
        throw refused(number, damagedChunks, Storage.deferred(bytes.segment().byteSize(), memory,
                () -> DeviceSource.withAccess(options, bytes), file.location()).materialize());
    }

    private static Device savedDevice(StorageRecord record) {
        try {
            return Device.parse(record.device());
        } catch (IllegalArgumentException _) {
            throw Rule.V15_STRUCTURE.broken("a storage has the device '" + FormatException.quote(record.device()) + "'",
                    FormatException.NO_OFFSET);
        }
    }

    private Allocation allocate(int number, StorageRecord record) {
        checkKnown(number);
        if (cache.isEmpty()) {
            return allocateNow(number, record);
        }
        List<ExtentRecord> fetched = cache.get().supply(extents(record), this::fileOf);
        Allocation bytes = allocateNow(number, record);
        cache.get().keep(extents(record), fetched, bytes.segment());
        return bytes;
    }

    private Allocation allocateNow(int number, StorageRecord record) {
        if (options.isInMemory()) {
            return read(number, record);
        }
        boolean checksNow = isToBeChecked(record) || isFetched(record);
        Allocation bytes = checkable(number, record, map(record));
        List<StorageChunk> chunks = checksNow
                ? check(number, new Span(0, record.nbytes()), bytes, true)
                : List.of();
        if (chunks.isEmpty()) {
            if (checksNow && bytes.backing().orElse(null) instanceof CheckedBytes checked) {
                checked.setCompared();
            }
            return bytes;
        }
        throw refused(number, chunks, Storage.over(bytes));
    }

    /// Reads a whole storage, and checks it unless the policy is to check nothing.
    private Allocation read(int number, StorageRecord record) {
        RunChecksums sums = options.checksums() == ChecksumPolicy.NONE
                ? RunChecksums.NONE
                : new RunChecksums(check.table(number), options.memory().isPresent());
        Allocation bytes = memory.read(pieces(extents(record)), sums);
        List<StorageChunk> damagedChunks = sums.damaged();
        if (damagedChunks.isEmpty()) {
            return bytes;
        }
        throw refused(number, damagedChunks, Storage.over(bytes));
    }

    /// Reads a whole storage into new memory, and checks it unless the policy is to check nothing.
    ///
    /// @param number the number of the storage
    /// @return its bytes, which do not depend on the file
    /// @throws FormatException by rule V14 if a chunk is damaged
    Allocation read(int number) {
        return MappedAccess.guarded(file, () -> {
            checkKnown(number);
            return read(number, snapshot.storage(number));
        });
    }

    private void checkKnown(int number) {
        Suspect known = damaged.get(number);
        if (known != null) {
            throw known.damage.refusal();
        }
    }

    /// Records damage.
    private FormatException refused(int number, List<StorageChunk> chunks, Storage readable) {
        DamagedStorage damage = damaged(chunks);
        damaged.put(number, new Suspect(damage, readable));
        return damage.refusal();
    }

    /// Adds the checksums to a mapped storage, for operations that read all of it. With a shared mapping, bytes change
    /// in the file and are not checked.
    private Allocation checkable(int number, StorageRecord record, Allocation mapped) {
        if (options.checksums() == ChecksumPolicy.NONE || file.mode() == MapMode.SHARED) {
            return mapped;
        }
        try {
            Map<Integer, MappedFile> files = new HashMap<>();
            for (ExtentRecord extent : extents(record)) {
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

    /// Refuses damaged chunks. The allocation of a storage references it, so it must not reference the storages: they
    /// would never be collected.
    private Function<StorageChunk, FormatException> refusals() {
        Snapshot from = snapshot;
        StorageCheck spans = check;
        Set<Damage> met = metInParts;
        String name = file.location();
        return chunk -> {
            DamagedStorage damage = damaged(from, spans, List.of(chunk));
            damage.damages().forEach(met::add);
            return damage.refusal().withFile(name);
        };
    }

    /// Checks the bytes of a storage that were mapped or read, and frees them if that fails.
    ///
    /// @param isMapped whether its bytes may be those of a mapped file, as they may be in memory of the caller's choice
    private List<StorageChunk> check(int number, Span part, Allocation bytes, boolean isMapped) {
        try {
            return isMapped || options.memory().isPresent()
                    ? Pages.guard(bytes.segment(), () -> check.mapped(number, part, bytes.segment()))
                    : check.inMemory(number, part, bytes.segment());
        } catch (Throwable e) {
            bytes.free();
            throw e;
        }
    }

    /// Reads a part of a storage into new memory, and checks the chunks that cover it if the policy requires it.
    ///
    /// @param number the number of the storage
    /// @param part the bytes of it
    /// @return these bytes
    /// @throws FormatException by rule V14 if a chunk is damaged
    Allocation read(int number, Span part) {
        return MappedAccess.guarded(file, () -> readPart(number, part));
    }

    private Allocation readPart(int number, Span part) {
        StorageRecord record = snapshot.storage(number);
        boolean checks = isToBeChecked(record);
        Span whole = checks ? check.chunksAround(number, part) : part;
        Allocation bytes = memory.copy(pieces(record, whole));
        List<StorageChunk> chunks = checks ? check(number, whole, bytes, false) : List.of();
        if (!chunks.isEmpty()) {
            bytes.free();
            DamagedStorage damage = damaged(chunks);
            damage.damages().forEach(metInParts::add);
            throw damage.refusal();
        }
        MemorySegment wanted = bytes.segment().asSlice(part.start() - whole.start(), part.end() - part.start());
        return new Allocation(wanted, bytes.sharing(), null, bytes::free);
    }

    /// {@return the pieces of files that are a part of a storage}
    ///
    /// @param number the number of the storage
    /// @param part the bytes of it
    List<Piece> pieces(int number, Span part) {
        return pieces(snapshot.storage(number), part);
    }

    private List<Piece> pieces(StorageRecord record, Span part) {
        List<Piece> pieces = new ArrayList<>();
        long start = 0;
        for (ExtentRecord extent : extents(record)) {
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

    /// A storage that is one run of the file is a window on the common mapping, unless another storage has some of the
    /// same bytes. Otherwise it has a separate mapping or copy, so that writes to one storage are not visible in
    /// another.
    private Allocation map(StorageRecord record) {
        List<ExtentRecord> extents = extents(record);
        if (file.mode() == MapMode.SHARED) {
            extents.forEach(CroftStorages::checkWritable);
        }
        return isWindow(extents)
                ? fileOf(extents.getFirst().base()).window(extents.getFirst().fileOffset(), record.nbytes())
                : file.allocation(pieces(extents));
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

    private List<ExtentRecord> extents(StorageRecord record) {
        List<ExtentRecord> extents = new ArrayList<>(record.extentCount());
        for (int i = 0; i < record.extentCount(); i++) {
            extents.add(snapshot.extent(record.firstExtent() + i));
        }
        return extents;
    }

    private List<Piece> pieces(List<ExtentRecord> extents) {
        List<Piece> pieces = new ArrayList<>(extents.size());
        for (ExtentRecord extent : extents) {
            pieces.add(piece(extent));
        }
        return pieces;
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

    private Piece piece(ExtentRecord extent) {
        return piece(extent, 0, extent.length());
    }

    private Piece piece(ExtentRecord extent, long start, long length) {
        return extent.kind() == ExtentKind.ZERO
                ? new ZeroPiece(length)
                : fileOf(extent.base()).piece(extent.fileOffset() + start, length);
    }

    private MappedFile fileOf(int base) {
        return base == ExtentRecord.THIS_FILE ? file : bases.file(snapshot.base(base - 1));
    }
}
