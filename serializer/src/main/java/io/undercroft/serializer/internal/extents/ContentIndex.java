package io.undercroft.serializer.internal.extents;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.StorageRecord;
import io.undercroft.mmap.Pages;
import io.undercroft.serializer.internal.disk.DiskFile;
import io.undercroft.storage.spi.Faults;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/// The bytes that are stored already: in the file, or in a base. They are found by their digests, and used only after
/// they have been compared (section 11.1 of the format). Belongs to one thread, but for [#isSame], [#isOnDisk],
/// [#isSameOnDisk], [#unwritten] and [#mappedExtents].
public final class ContentIndex {
    private static final long PIECE = 1 << 17;

    private final Map<Integer, ByteSource> files = new HashMap<>();
    /// The mapped bytes of the files, as far as they can be mapped, of the time at which they were added.
    private final Map<Integer, MemorySegment> mapped = new HashMap<>();
    /// The file itself, if it is read past the page cache.
    private @Nullable DiskFile uncached;
    private final Set<Integer> foreign = new HashSet<>();
    private final PlaceTable own;
    private final PlaceTable others = new PlaceTable(0);
    /// The chunks that were written to a file that cannot be read back.
    private final Map<Place, Chunk> written = new HashMap<>();
    /// The places of the storages of this save, and of those that were added by their places.
    private final Set<List<Place>> storages = new HashSet<>();
    private final List<Listed> snapshots = new ArrayList<>();
    /// The places of the storages of the snapshots, made when first needed.
    private @Nullable Set<List<Place>> former;
    private final Unwritten unwritten = new Unwritten();
    private final MappedExtents mappedExtents = new MappedExtents();

    /// A snapshot with the number of its file.
    private record Listed(Snapshot snapshot, int base) {}

    /// An index of bytes in the file itself.
    ///
    /// @param own their places, to which those of new bytes are added
    public ContentIndex(PlaceTable own) {
        this.own = own;
    }

    /// Adds a file; bytes in it are read when they are compared.
    ///
    /// @param base its number in places
    /// @param file the file
    /// @throws IOException if it cannot be mapped
    void addFile(int base, ByteSource file) throws IOException {
        files.put(base, file);
        if (file.size() > 0) {
            file.segment(0, file.size()).ifPresent(bytes -> mapped.put(base, bytes));
        }
    }

    /// Reads the file itself past the page cache, where it can be.
    ///
    /// @param file the file, which is added too
    void readPastCache(DiskFile file) {
        uncached = file;
    }

    /// Adds a file of another format, whose bytes can be used at any offset.
    ///
    /// @param base its number in places
    /// @param file the file
    /// @throws IOException if it cannot be mapped
    void addForeignFile(int base, ByteSource file) throws IOException {
        addFile(base, file);
        foreign.add(base);
    }

    /// Adds the extents of a snapshot that are in one base.
    ///
    /// @param snapshot the snapshot
    /// @param there the number that it has for that file
    /// @param base its number here
    void addExtents(Snapshot snapshot, int there, int base) {
        mappedExtents.addExtents(snapshot, there, base);
        snapshot.storedExtents(null, (high, low, in, offset, length) -> {
            if (in == there) {
                others.add(high, low, base, offset, length);
            }
        });
    }

    /// Adds a base with all of a snapshot that is in its file: extents, and storages, so that a storage that is equal
    /// as a whole is recognised.
    ///
    /// @param snapshot the snapshot
    /// @param base the number of its file
    void addBase(Snapshot snapshot, int base) {
        addExtents(snapshot, ExtentRecord.THIS_FILE, base);
        snapshots.add(new Listed(snapshot, base));
    }

    /// Adds the snapshot before, whose extents and those of its predecessors in the file are among the known places.
    ///
    /// @param parent the snapshot
    void addParent(Snapshot parent) {
        mappedExtents.addChain(parent);
        snapshots.add(new Listed(parent, Place.THIS_FILE));
    }

    static Place place(ExtentRecord extent, int base) {
        return new Place(base, extent.fileOffset(), extent.storedLength());
    }

    /// {@return the bytes that have a place in the file, and are still in memory only}
    Unwritten unwritten() {
        return unwritten;
    }

    /// {@return the extents that storages to be saved may be mapped from}
    MappedExtents mappedExtents() {
        return mappedExtents;
    }

    /// Adds bytes.
    ///
    /// @param digest their digest
    /// @param place their place
    void add(Digest128 digest, Place place) {
        (place.base() == Place.THIS_FILE ? own : others).add(digest, place);
    }

    /// Adds bytes of a file that cannot be read back. Other bytes are compared with the chunk that was written: if it
    /// has changed meanwhile, they are found to be different.
    ///
    /// @param digest the digest of the bytes that were written
    /// @param place their place
    /// @param chunk the chunk that they are of, whose bytes stay in memory
    void addWritten(Digest128 digest, Place place, Chunk chunk) {
        add(digest, place);
        written.put(place, chunk);
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
        return !found.isEmpty() && (isInParent(number, found) || former().contains(found) || !storages.add(found));
    }

    /// Usually a storage is the one with the same number in the snapshot before, and no table of all storages is made.
    private boolean isInParent(int number, List<Place> found) {
        for (Listed listed : snapshots) {
            if (listed.base == Place.THIS_FILE && number < listed.snapshot.storageCount()) {
                return places(listed, number).equals(found);
            }
        }
        return false;
    }

    private Set<List<Place>> former() {
        Set<List<Place>> made = former;
        if (made == null) {
            made = new HashSet<>();
            for (Listed listed : snapshots) {
                for (int number = 0; number < listed.snapshot.storageCount(); number++) {
                    made.add(places(listed, number));
                }
            }
            former = made;
        }
        return made;
    }

    private static List<Place> places(Listed listed, int number) {
        StorageRecord storage = listed.snapshot.storage(number);
        List<Place> found = new ArrayList<>(storage.extentCount());
        for (int i = 0; i < storage.extentCount(); i++) {
            ExtentRecord extent = listed.snapshot.extent(storage.firstExtent() + i);
            if (extent.kind() != ExtentKind.ZERO && extent.base() == ExtentRecord.THIS_FILE) {
                found.add(place(extent, listed.base));
            }
        }
        return found;
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
        boolean aligned = place.offset() % alignment == 0 || foreign.contains(place.base());
        return aligned && place.length() == chunk.byteSize()
                && (place.equals(proven) || isSame(chunk, place));
    }

    /// {@return whether bytes are the same as those of a place} Safe for several threads after all files are added.
    ///
    /// @param bytes as many bytes as the place has
    /// @param place the place
    /// @throws IOException if reading fails
    boolean isSame(MemorySegment bytes, Place place) throws IOException {
        MemorySegment whole = mapped.get(place.base());
        if (whole != null && place.end() <= whole.byteSize()) {
            return isSameMapped(bytes, whole.asSlice(place.offset(), place.length()));
        }
        Optional<Boolean> inMemory = place.base() == Place.THIS_FILE
                ? unwritten.isSame(bytes, place.offset())
                : Optional.empty();
        Chunk chunk = written.get(place);
        if (inMemory.isEmpty() && chunk != null) {
            return isSameMapped(bytes, chunk.bytes(MemorySegment.NULL));
        }
        ByteSource file = files.get(place.base());
        return inMemory.isPresent()
                ? inMemory.get()
                : file != null && isSame(bytes, place.offset(),
                        MemorySegment.ofArray(new byte[(int) Math.min(PIECE, bytes.byteSize())]), file::read,
                        Faults::haveSameBytes);
    }

    /// {@return whether a place has to be read from the disk, so that a digest says sooner than [#isSame] which bytes
    /// differ from it} Safe for several threads after all files are added.
    ///
    /// @param place the place
    boolean isOnDisk(Place place) {
        return uncached != null && place.base() == Place.THIS_FILE
                && uncached.isReadPastCache(place.offset(), place.length());
    }

    /// {@return whether bytes are the same as those of a place, which are read from the disk} Safe for several threads
    /// after all files are added.
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
}
