package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.ExtentSums;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.mmap.FileBacking;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.storage.spi.Backing;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// The extents of the file and its bases, looked up for chunks that are mapped from these files. Where none of its
/// pages was written to, a chunk and its extent are the same memory of the page cache: the bytes are neither compared
/// nor summed up, and the extent keeps the sums that the index has. Safe for several threads after all is added.
final class MappedExtents {
    private final List<KnownFile> files = new ArrayList<>();
    private final List<Listed> snapshots = new ArrayList<>();
    /// The snapshot before the one to be saved.
    private @Nullable Snapshot parent;
    /// The numbers of the files that storages are mapped from, or null where that is none of these.
    private final IdentityHashMap<MappedFile, @Nullable Integer> bases = new IdentityHashMap<>();
    /// The sums of all extents, made when first needed.
    private @Nullable Map<Place, ExtentSums> sums;

    /// Recognises a file that is mapped.
    @FunctionalInterface
    interface Recognition {
        boolean test(MappedFile mapped) throws IOException;
    }

    private record KnownFile(int base, Recognition recognition) {}

    /// Extents of a snapshot that are in one file.
    ///
    /// @param there the number that the snapshot has for the file
    /// @param base the number here
    private record Listed(Snapshot snapshot, int there, int base) {}

    /// The relation of the bytes of a chunk to the files.
    sealed interface Found {
        /// They have to be compared.
        record Unknown() implements Found {}

        /// Any process may have changed them in the file since they were summed up, so comparing them with the file
        /// shows nothing.
        record Shared() implements Found {}

        /// They are the bytes of an extent.
        ///
        /// @param extent the extent
        record Same(Extent.Stored extent) implements Found {}
    }

    /// Adds a file.
    ///
    /// @param base its number in places
    /// @param recognition whether a mapping is of this file
    void addFile(int base, Recognition recognition) {
        files.add(new KnownFile(base, recognition));
    }

    /// Adds the extents of a snapshot that are in one file.
    ///
    /// @param snapshot the snapshot
    /// @param there the number that it has for that file itself
    /// @param base its number here
    void addExtents(Snapshot snapshot, int there, int base) {
        snapshots.add(new Listed(snapshot, there, base));
    }

    /// Adds the extents of the snapshot before, and of those before it, that are in their file.
    ///
    /// @param parent the snapshot before
    void addChain(Snapshot parent) {
        this.parent = parent;
    }

    /// {@return what the bytes of a chunk are, of which none is read}
    ///
    /// @param chunk a chunk whose storage is in memory or mapped
    /// @throws IOException if it cannot be determined which file is mapped
    Found find(Chunk chunk) throws IOException {
        Backing backing = chunk.storage().bytes().backing().orElse(null);
        if (files.isEmpty() || !(backing instanceof FileBacking file)) {
            return new Found.Unknown();
        }
        long start = chunk.storage().bytes().start() + chunk.start();
        long end = start + chunk.length();
        FilePiece piece = file.source(start, end).orElse(null);
        Integer base = piece == null ? null : base(piece.file());
        if (piece == null || base == null) {
            return new Found.Unknown();
        }
        if (piece.file().mode() == MapMode.SHARED) {
            return new Found.Shared();
        }
        Place place = new Place(base, piece.offset(), piece.length());
        ExtentSums known = place.offset() % chunk.alignment() == 0 ? sums(place, chunk) : null;
        return known != null && file.isUnwritten(start, end)
                ? new Found.Same(new Extent.Stored(place, known))
                : new Found.Unknown();
    }

    private synchronized @Nullable Integer base(MappedFile mapped) throws IOException {
        if (!bases.containsKey(mapped)) {
            bases.put(mapped, recognised(mapped));
        }
        return bases.get(mapped);
    }

    private @Nullable Integer recognised(MappedFile mapped) throws IOException {
        for (KnownFile file : files) {
            if (file.recognition.test(mapped)) {
                return file.base;
            }
        }
        return null;
    }

    /// Usually the chunk is where it was in the snapshot before, and no table of all extents is made.
    private @Nullable ExtentSums sums(Place place, Chunk chunk) throws IOException {
        Extent.Stored before = chunk.before();
        return before != null && before.place().equals(place) ? before.sums() : all().get(place);
    }

    private synchronized Map<Place, ExtentSums> all() throws IOException {
        Map<Place, ExtentSums> made = sums;
        if (made == null) {
            made = new HashMap<>();
            for (Snapshot next = parent; next != null; next = next.previous().orElse(null)) {
                addTo(made, new Listed(next, ExtentRecord.THIS_FILE, Place.THIS_FILE));
            }
            for (Listed listed : snapshots) {
                addTo(made, listed);
            }
            sums = made;
        }
        return made;
    }

    private static void addTo(Map<Place, ExtentSums> sums, Listed listed) {
        for (int number = 0; number < listed.snapshot.extentCount(); number++) {
            ExtentRecord extent = listed.snapshot.extent(number);
            if (extent.kind() != ExtentKind.ZERO && extent.base() == listed.there) {
                sums.putIfAbsent(ContentIndex.place(extent, listed.base), extent.sums());
            }
        }
    }
}
