package io.undercroft.serializer.internal.extents;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Coder;
import io.undercroft.format.internal.Coding;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.ExtentSums;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.StorageRecord;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.FileBacking;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Pages;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.serializer.internal.disk.Disk.DiskFile;
import io.undercroft.serializer.internal.extents.Extent.Place;
import io.undercroft.serializer.internal.extents.ExtentWriter.Chunk;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.internal.support.Faults;
import io.undercroft.storage.spi.Backing;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiPredicate;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/// The bytes that are stored already: in the file, or in a base. An [ExtentWriter] finds the bytes of a chunk in two
/// ways.
///
/// - By their digest. The bytes at a place are used only after they have been compared (section 11.1 of the format):
///   with the mapped file, with what is in memory and not written yet, or with what is read for it.
/// - By their mapping. If a chunk is mapped from one of the files, and none of its pages was written to, the chunk and
///   its extent are the same memory of the page cache: the bytes are neither compared nor summed up, and the extent
///   keeps the sums that the index has.
///
/// Belongs to one thread. Once all files are added, other threads may call [#mapped], [#isSame], [#isOnDisk],
/// [#isSameOnDisk] and [#written] meanwhile.
public final class ContentIndex {
    private static final long PIECE = 1 << 17;

    private final Map<Integer, StoredFile> files = new HashMap<>();
    /// Whether a mapping is of a file, in the order in which they are asked.
    private final Map<Integer, Recognition> recognitions = new LinkedHashMap<>();
    /// The file itself, if it is read past the page cache.
    private @Nullable DiskFile uncached;
    private final List<Listed> snapshots = new ArrayList<>();

    private final PlaceTable own;
    private final PlaceTable others = new PlaceTable(0);
    /// Runs of bytes that have a place in the file, by its offset, and are still in memory only. Guarded by itself.
    private final NavigableMap<Long, MemorySegment> unwritten = new TreeMap<>();
    /// The chunks that were written to a file that cannot be read back.
    private final Map<Place, Chunk> sent = new HashMap<>();

    /// The places of the storages of this save, and of those that were added by their places.
    private final Set<List<Place>> storages = new HashSet<>();
    /// The places of the storages of the snapshots, made when first needed.
    private @Nullable Set<List<Place>> former;

    /// The numbers of the files that storages are mapped from, or null where that is none of these. Guarded by itself,
    /// and so are the sums.
    private final IdentityHashMap<MappedFile, @Nullable Integer> bases = new IdentityHashMap<>();
    /// The sums of all extents, made when first needed.
    private @Nullable Map<Place, ExtentSums> sums;

    /// A file.
    ///
    /// @param source its bytes
    /// @param mapped its bytes of the time at which it was added, or null if it cannot be mapped
    /// @param isForeign whether it is of another format, so that its bytes can be used at any offset
    private record StoredFile(ByteSource source, @Nullable MemorySegment mapped, boolean isForeign) {}

    /// Extents of a snapshot that are in one file. Of the snapshot before, those of its predecessors belong to it.
    ///
    /// @param there the number that the snapshot has for the file
    /// @param base the number here
    private record Listed(Snapshot snapshot, int there, int base) {
        boolean has(ExtentRecord extent) {
            return extent.kind() != ExtentKind.ZERO && extent.base() == there;
        }

        List<Place> places(int storage) {
            return snapshot.extents(storage).stream().filter(this::has).map(extent -> Place.of(extent, base)).toList();
        }

        /// {@return whether the places of a storage are these} Makes no list of them.
        boolean hasPlaces(int storage, List<Place> places) {
            StorageRecord stored = snapshot.storage(storage);
            int end = stored.firstExtent() + stored.extentCount();
            int found = 0;
            for (int number = stored.firstExtent(); number < end; number++) {
                ExtentRecord extent = snapshot.extent(number);
                if (has(extent)) {
                    if (found == places.size() || !places.get(found).equals(Place.of(extent, base))) {
                        return false;
                    }
                    found++;
                }
            }
            return found == places.size();
        }
    }

    /// Recognises a file that is mapped.
    @FunctionalInterface
    public interface Recognition {
        boolean test(MappedFile mapped) throws IOException;
    }

    /// An index of bytes in the file itself.
    ///
    /// @param own the places of all extents of the snapshots in the file, to which those of new bytes are added
    public ContentIndex(PlaceTable own) {
        this.own = own;
    }

    /// Adds a `.croft` file; bytes in it are read when they are compared.
    ///
    /// @param base its number in places
    /// @param file the file
    /// @throws IOException if it cannot be mapped
    public void addFile(int base, ByteSource file) throws IOException {
        add(base, file, false);
    }

    /// Adds a file of another format, whose bytes can be used at any offset.
    ///
    /// @param base its number in places
    /// @param file the file
    /// @throws IOException if it cannot be mapped
    void addForeignFile(int base, ByteSource file) throws IOException {
        add(base, file, true);
    }

    private void add(int base, ByteSource file, boolean isForeign) throws IOException {
        files.put(base, new StoredFile(file,
                file.size() > 0 ? file.segment(0, file.size()).orElse(null) : null, isForeign));
    }

    /// Finds storages that are mapped from a file that is added.
    ///
    /// @param base its number in places
    /// @param recognition whether a mapping is of this file
    public void recognise(int base, Recognition recognition) {
        recognitions.put(base, recognition);
    }

    /// Reads the file itself past the page cache, where it can be.
    ///
    /// @param file the file, which is added too
    public void readPastCache(DiskFile file) {
        uncached = file;
    }

    /// Adds the snapshot before, whose extents and those of its predecessors in the file are among the known places.
    ///
    /// @param parent the snapshot
    public void addParent(Snapshot parent) {
        snapshots.add(new Listed(parent, ExtentRecord.THIS_FILE, Place.THIS_FILE));
    }

    /// Adds the extents of a snapshot that are in one base. If that is its own file, its storages are added too, so
    /// that a storage that is equal as a whole is recognised.
    ///
    /// @param snapshot the snapshot
    /// @param there the number that it has for that file
    /// @param numbers returns the number here of a file that it has a number for, or -1
    void addExtents(Snapshot snapshot, int there, IntUnaryOperator numbers) {
        int base = numbers.applyAsInt(there);
        snapshots.add(new Listed(snapshot, there, base));
        snapshot.storedExtents(null, (high, low, in, offset, length, coding) -> {
            Coding here = coding == null ? null : renumbered(coding, numbers);
            if (in == there && (coding == null || here != null)) {
                others.add(new Digest128(high, low), new Place(base, offset, length), here);
            }
        });
    }

    /// {@return a coding with the number here of the file of its reference; null if that file has none}
    ///
    /// @param coding a coding of a snapshot
    /// @param numbers as for [#addExtents]
    static @Nullable Coding renumbered(Coding coding, IntUnaryOperator numbers) {
        int reference = coding.hasReference() ? numbers.applyAsInt(coding.referenceBase()) : 0;
        return reference < 0
                ? null
                : new Coding(coding.codec(), coding.width(), coding.length(), coding.checksum(), reference,
                        coding.referenceOffset());
    }

    /// Adds bytes that are stored as they are.
    ///
    /// @param digest their digest
    /// @param place their place
    void add(Digest128 digest, Place place) {
        add(digest, place, (Coding) null);
    }

    private void add(Digest128 digest, Place place, @Nullable Coding coding) {
        (place.base() == Place.THIS_FILE ? own : others).add(digest, place, coding);
    }

    /// {@return how the bytes of a place are stored; null if as they are}
    ///
    /// @param place a place that was found
    @Nullable
    Coding coding(Place place) {
        return (place.base() == Place.THIS_FILE ? own : others).coding(place);
    }

    /// Adds bytes of a chunk that get a place in the file. If the file cannot be read back, other bytes are compared
    /// with the chunk: if it has changed meanwhile, they are found to be different.
    ///
    /// @param digest the digest of the bytes
    /// @param place their place
    /// @param coding how they are stored there; null if as they are
    /// @param chunk the chunk
    void add(Digest128 digest, Place place, @Nullable Coding coding, Chunk chunk) {
        if (files.containsKey(Place.THIS_FILE)) {
            add(digest, place, coding);
        } else if (chunk.staysInMemory()) {
            add(digest, place, coding);
            sent.put(place, chunk);
        }
    }

    /// Adds a run of bytes that is not written to the file yet, or makes one longer.
    ///
    /// @param offset its place in the file
    /// @param bytes the bytes; not changed until they are [written][#written]
    void addUnwritten(long offset, MemorySegment bytes) {
        synchronized (unwritten) {
            unwritten.put(offset, bytes);
        }
    }

    /// Records that a run of bytes was written.
    ///
    /// @param offset its place in the file
    void written(long offset) {
        synchronized (unwritten) {
            unwritten.remove(offset);
        }
    }

    /// Adds a storage.
    ///
    /// @param found the places of its bytes, zeros left out
    /// @return whether another one that was added has its bytes in the same places
    boolean addStorage(List<Place> found) {
        return !found.isEmpty() && !storages.add(found);
    }

    /// Adds a storage of which nothing was written.
    ///
    /// @param number its number
    /// @param found the places of its bytes, zeros left out
    /// @return whether another one has its bytes in the same places: in this save, in the snapshot before, or in a base
    boolean addFoundStorage(int number, List<Place> found) {
        return !found.isEmpty() && (hasSameNumber(number, found) || former().contains(found) || !storages.add(found));
    }

    /// Usually a storage is the one with the same number in the snapshot before, or in a base, and no table of all
    /// storages is made.
    private boolean hasSameNumber(int number, List<Place> found) {
        for (Listed listed : snapshots) {
            if (listed.base == found.getFirst().base() && listed.there == ExtentRecord.THIS_FILE
                    && number < listed.snapshot.storageCount() && listed.hasPlaces(number, found)) {
                return true;
            }
        }
        return false;
    }

    private Set<List<Place>> former() {
        Set<List<Place>> made = former;
        if (made == null) {
            made = new HashSet<>();
            for (Listed listed : snapshots) {
                int count = listed.there == ExtentRecord.THIS_FILE ? listed.snapshot.storageCount() : 0;
                for (int number = 0; number < count; number++) {
                    made.add(listed.places(number));
                }
            }
            former = made;
        }
        return made;
    }

    /// Finds the place that a chunk has in a file of canonical bytes.
    ///
    /// @param chunk its bytes
    /// @param digest their digest
    /// @param alignment the alignment of the offset of a place, except in files of other formats
    /// @param before the place of the previous chunk, or null
    /// @param proven a place whose bytes were compared already, or null
    /// @return the place, or null if the bytes are nowhere
    /// @throws IOException if reading fails
    @Nullable
    Place find(MemorySegment chunk, Digest128 digest, long alignment, @Nullable Place before, @Nullable Place proven)
            throws IOException {
        Collection<Place> here = own.get(digest);
        Collection<Place> elsewhere = others.get(digest);
        Place next = before == null ? null : new Place(before.base(), before.end(), chunk.byteSize());
        if (next != null && (here.contains(next) || elsewhere.contains(next))
                && serves(next, chunk, alignment, proven)) {
            return next;
        }
        Place found = first(here, chunk, alignment, proven);
        return found == null ? first(elsewhere, chunk, alignment, proven) : found;
    }

    private @Nullable Place first(Collection<Place> places, MemorySegment chunk, long alignment,
            @Nullable Place proven) throws IOException {
        for (Place place : places) {
            if (serves(place, chunk, alignment, proven)) {
                return place;
            }
        }
        return null;
    }

    private boolean serves(Place place, MemorySegment chunk, long alignment, @Nullable Place proven)
            throws IOException {
        StoredFile file = files.get(place.base());
        Coding coding = coding(place);
        boolean aligned = place.offset() % alignment == 0 || coding != null || (file != null && file.isForeign);
        return aligned && place.length() == chunk.byteSize()
                && (place.equals(proven) || isSame(chunk, place, coding));
    }

    /// {@return whether bytes are the same as those of a place}
    ///
    /// @param bytes as many bytes as the place has
    /// @param place the place
    /// @param coding how they are stored there; null if as they are
    /// @throws IOException if reading fails
    boolean isSame(MemorySegment bytes, Place place, @Nullable Coding coding) throws IOException {
        Chunk chunk = sent.get(place);
        if (coding == null || chunk != null) {
            return isSame(bytes, place);
        }
        Allocation decoded = AnonymousMemory.allocator().allocate(place.length());
        try (Coder coder = Coder.open()) {
            coder.decode(coding, into -> read(place.base(), place.offset(), into),
                    into -> read(coding.referenceBase(), coding.referenceOffset(), into), decoded.segment(),
                    place.offset());
            return isSameMapped(bytes, decoded.segment());
        } catch (FormatException _) {
            // What is damaged is written again.
            return false;
        } finally {
            decoded.free();
        }
    }

    /// Reads bytes of a file, which may not be written to it yet.
    ///
    /// @param base the number of the file
    /// @param offset the first byte
    /// @param into the destination
    /// @throws IOException if reading fails
    void read(int base, long offset, MemorySegment into) throws IOException {
        if (base == Place.THIS_FILE) {
            synchronized (unwritten) {
                Map.Entry<Long, MemorySegment> run = unwritten.floorEntry(offset);
                if (run != null && offset + into.byteSize() <= run.getKey() + run.getValue().byteSize()) {
                    into.copyFrom(run.getValue().asSlice(offset - run.getKey(), into.byteSize()));
                    return;
                }
            }
        }
        Objects.requireNonNull(files.get(base)).source.read(offset, into);
    }

    private boolean isSame(MemorySegment bytes, Place place) throws IOException {
        StoredFile file = files.get(place.base());
        if (file != null && file.mapped != null && place.end() <= file.mapped.byteSize()) {
            return isSameMapped(bytes, file.mapped.asSlice(place.offset(), place.length()));
        }
        if (place.base() == Place.THIS_FILE) {
            synchronized (unwritten) {
                Map.Entry<Long, MemorySegment> run = unwritten.floorEntry(place.offset());
                if (run != null && place.end() <= run.getKey() + run.getValue().byteSize()) {
                    return Faults.haveSameBytes(bytes,
                            run.getValue().asSlice(place.offset() - run.getKey(), place.length()));
                }
            }
        }
        Chunk chunk = sent.get(place);
        if (chunk != null) {
            return isSameMapped(bytes, chunk.bytes(MemorySegment.NULL));
        }
        return file != null && isSame(bytes, place.offset(),
                MemorySegment.ofArray(new byte[(int) Math.min(PIECE, bytes.byteSize())]), file.source::read,
                Faults::haveSameBytes);
    }

    /// {@return whether a place has to be read from the disk, so that a digest says sooner than [#isSame] which bytes
    /// differ from it}
    ///
    /// @param place the place
    boolean isOnDisk(Place place) {
        return uncached != null && place.base() == Place.THIS_FILE
                && uncached.isReadPastCache(place.offset(), place.length());
    }

    /// {@return whether bytes are the same as those of a place, which are read from the disk}
    ///
    /// @param bytes as many bytes as the place has, in memory that no file backs
    /// @param place a place for which [#isOnDisk] is true
    /// @param buffer memory that no file backs, aligned to pages
    /// @throws IOException if reading fails
    boolean isSameOnDisk(MemorySegment bytes, Place place, MemorySegment buffer) throws IOException {
        DiskFile file = Objects.requireNonNull(uncached);
        return isSame(bytes, place.offset(), buffer, file::readOnce, (one, other) -> one.mismatch(other) < 0);
    }

    private static boolean isSameMapped(MemorySegment bytes, MemorySegment there) {
        try {
            return Faults.haveSameBytes(bytes, there);
        } catch (InternalError e) {
            if (Faults.isFault(e)) {
                // One of the two is in a file that was cut, or whose disk fails.
                Pages.probe(bytes);
                Pages.probe(there);
            }
            throw e;
        }
    }

    @FunctionalInterface
    private interface Reading {
        void read(long offset, MemorySegment into) throws IOException;
    }

    private static boolean isSame(MemorySegment bytes, long offset, MemorySegment buffer, Reading reading,
            BiPredicate<MemorySegment, MemorySegment> comparison) throws IOException {
        for (long done = 0; done < bytes.byteSize(); done += buffer.byteSize()) {
            MemorySegment there = buffer.asSlice(0, Math.min(buffer.byteSize(), bytes.byteSize() - done));
            reading.read(offset + done, there);
            if (!comparison.test(bytes.asSlice(done, there.byteSize()), there)) {
                return false;
            }
        }
        return true;
    }

    /// What the mapping of a chunk says of its bytes, of which none is read.
    ///
    /// @param isShared whether any process may have changed them in the file since they were summed up, so that
    ///     comparing them with the file shows nothing
    /// @param same the extent whose bytes they are; null if they have to be compared
    record Mapped(boolean isShared, Extent.@Nullable Stored same) {
        private static final Mapped UNKNOWN = new Mapped(false, null);
        private static final Mapped SHARED = new Mapped(true, null);
    }

    /// Looks up a chunk by its mapping.
    ///
    /// @param chunk a chunk, in memory or mapped
    /// @throws IOException if it cannot be determined which file is mapped
    Mapped mapped(Chunk chunk) throws IOException {
        Backing backing = chunk.storage().bytes().backing().orElse(null);
        if (recognitions.isEmpty() || !(backing instanceof FileBacking file)) {
            return Mapped.UNKNOWN;
        }
        long start = chunk.storage().bytes().start() + chunk.start();
        long end = start + chunk.length();
        FilePiece piece = file.source(start, end).orElse(null);
        Integer base = piece == null ? null : base(piece.file());
        if (piece == null || base == null) {
            return Mapped.UNKNOWN;
        }
        if (piece.file().mode() == MapMode.SHARED) {
            return Mapped.SHARED;
        }
        Place place = new Place(base, piece.offset(), piece.length());
        ExtentSums known = place.offset() % chunk.alignment() == 0 ? sums(place, chunk) : null;
        return known != null && file.isUnwritten(start, end)
                ? new Mapped(false, new Extent.Stored(place, known, null))
                : Mapped.UNKNOWN;
    }

    private @Nullable Integer base(MappedFile mapped) throws IOException {
        synchronized (bases) {
            if (!bases.containsKey(mapped)) {
                Integer base = null;
                for (Map.Entry<Integer, Recognition> file : recognitions.entrySet()) {
                    if (base == null && file.getValue().test(mapped)) {
                        base = file.getKey();
                    }
                }
                bases.put(mapped, base);
            }
            return bases.get(mapped);
        }
    }

    /// Usually the chunk is where it was in the snapshot before, and no table of all extents is made.
    private @Nullable ExtentSums sums(Place place, Chunk chunk) throws IOException {
        Extent.Stored before = chunk.before();
        return before != null && before.place().equals(place) ? before.sums() : sums().get(place);
    }

    private Map<Place, ExtentSums> sums() throws IOException {
        synchronized (bases) {
            Map<Place, ExtentSums> made = sums;
            if (made == null) {
                made = new HashMap<>();
                for (Listed listed : snapshots) {
                    boolean isParent = listed.base == Place.THIS_FILE;
                    for (Snapshot next = listed.snapshot; next != null; next = isParent
                            ? next.previous().orElse(null)
                            : null) {
                        addSums(next, listed, made);
                    }
                }
                sums = made;
            }
            return made;
        }
    }

    private static void addSums(Snapshot snapshot, Listed listed, Map<Place, ExtentSums> sums) {
        for (int number = 0; number < snapshot.extentCount(); number++) {
            ExtentRecord extent = snapshot.extent(number);
            if (listed.has(extent) && extent.coding() == null) {
                sums.putIfAbsent(Place.of(extent, listed.base), extent.sums());
            }
        }
    }
}
