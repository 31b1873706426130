package io.undercroft.serializer.internal.writing;

import io.undercroft.format.ExtentDigester;
import io.undercroft.format.ExtentSums;
import io.undercroft.format.Layout;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveOptions.Sharing;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Cuts storages into chunks and finds a place for each: where its bytes stand already, or behind what was written last.
///
/// Bytes go through a buffer of one chunk. It costs a copy and buys three things: the checksum is of what was written, even
/// if another thread writes to the tensor meanwhile; a mapped source that was truncated throws instead of killing the JVM;
/// and memory stays bounded. A chunk that has not changed since the snapshot before is found by comparing it with that
/// one's, where both stand, and is neither copied nor summed up. Belongs to one thread.
final class StorageWriter implements AutoCloseable {
    private final Destination destination;
    private final Candidates candidates;
    private final SaveOptions options;
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment buffer;
    private final ExtentDigester digester;
    private final Tally tally = new Tally();
    private long position;

    /// A writer that has written nothing.
    ///
    /// @param destination the file
    /// @param candidates where bytes stand already
    /// @param options whether chunks may share bytes, and whether zeros are written
    StorageWriter(Destination destination, Candidates candidates, SaveOptions options) {
        this.destination = destination;
        this.candidates = candidates;
        this.options = options;
        this.buffer = arena.allocate(1L << destination.chunkLog2(), Storage.ALIGNMENT);
        this.digester = new ExtentDigester(destination.chunkLog2());
        this.position = destination.start();
    }

    /// {@return the end of what was written, in bytes from the start of the file}
    long position() {
        return position;
    }

    /// {@return what became of the bytes so far}
    Tally tally() {
        return tally;
    }

    /// Writes a storage.
    ///
    /// @param storage the storage
    /// @return its extents in order
    /// @throws IOException if reading or writing fails
    List<Extent> write(PlannedStorage storage) throws IOException {
        if (storage.device().isMeta()) {
            return storage.nbytes() == 0 ? List.of() : List.of(new Extent.Zero(storage.nbytes()));
        }
        Predecessor before = new Predecessor(options.sharing() == Sharing.CONTENT ? destination.parent() : null,
                storage.number());
        List<Extent> extents = new ArrayList<>();
        long written = tally.written();
        for (long done = 0; done < storage.nbytes(); done += buffer.byteSize()) {
            MemorySegment chunk = buffer.asSlice(0, Math.min(buffer.byteSize(), storage.nbytes() - done));
            if (!storage.reaches(done, done + chunk.byteSize())) {
                tally.addUnreached(chunk.byteSize());
                addZeros(extents, chunk.byteSize());
            } else {
                writeChunk(storage, done, chunk, before, extents);
            }
        }
        countShared(extents, tally.written() - written);
        return extents;
    }

    private void writeChunk(PlannedStorage storage, long start, MemorySegment chunk, Predecessor before,
            List<Extent> extents)
            throws IOException {
        long alignment = Layout.alignment(storage.nbytes());
        Extent.Stored same = before.find(start, chunk.byteSize());
        MemorySegment inPlace = storage.slice(start, chunk.byteSize());
        if (same != null && candidates.isSame(inPlace, same.place())) {
            Place place = candidates.find(inPlace, same.sums().digest(), alignment, end(extents), same.place());
            if (place != null && !isLeftOut(storage, inPlace)) {
                extents.add(new Extent.Stored(place, same.sums()));
                return;
            }
        }
        copy(storage, start, chunk);
        if (isLeftOut(storage, chunk)) {
            tally.addZeros(chunk.byteSize());
            addZeros(extents, chunk.byteSize());
            return;
        }
        ExtentSums sums = sum(chunk);
        Place place = options.sharing() == Sharing.CONTENT
                ? candidates.find(chunk, sums.digest(), alignment, end(extents), null)
                : null;
        extents.add(new Extent.Stored(place == null ? append(storage, chunk, sums) : place, sums));
    }

    private static void copy(PlannedStorage storage, long offset, MemorySegment into) throws IOException {
        try {
            into.copyFrom(storage.slice(offset, into.byteSize()));
        } catch (InternalError e) {
            throw truncated(storage, e);
        }
    }

    private boolean isLeftOut(PlannedStorage storage, MemorySegment chunk) throws IOException {
        try {
            return !options.savesZeros() && storage.nbytes() >= Layout.MAPPING_ALIGNMENT && RawBytes.areZero(chunk);
        } catch (InternalError e) {
            throw truncated(storage, e);
        }
    }

    private static IOException truncated(PlannedStorage storage, InternalError cause) {
        return new IOException(
                "the file behind " + storage.bytes().describe() + " was truncated while it was mapped; open it again",
                cause);
    }

    private ExtentSums sum(MemorySegment chunk) {
        digester.update(chunk);
        return digester.finish();
    }

    private Place append(PlannedStorage storage, MemorySegment chunk, ExtentSums sums) throws IOException {
        Place place = new Place(Place.THIS_FILE, Layout.placeExtent(position, storage.nbytes()), chunk.byteSize());
        destination.sink().write(place.offset(), chunk);
        position = place.end();
        tally.addWritten(chunk.byteSize());
        if (destination.source() != null) {
            candidates.add(sums.digest(), place);
        }
        return place;
    }

    private static @Nullable Place end(List<Extent> extents) {
        return !extents.isEmpty() && extents.getLast() instanceof Extent.Stored(Place place, ExtentSums _)
                ? place
                : null;
    }

    private static void addZeros(List<Extent> extents, long length) {
        if (!extents.isEmpty() && extents.getLast() instanceof Extent.Zero(long before)) {
            extents.removeLast();
            extents.add(new Extent.Zero(before + length));
        } else {
            extents.add(new Extent.Zero(length));
        }
    }

    private void countShared(List<Extent> extents, long written) {
        List<Place> places = new ArrayList<>();
        for (Extent extent : extents) {
            if (extent instanceof Extent.Stored(Place place, ExtentSums _)) {
                places.add(place);
            }
        }
        long shared = places.stream().mapToLong(Place::length).sum() - written;
        boolean isKnown = candidates.addStorage(places);
        if (isKnown && written == 0) {
            tally.addSharedStorage(shared);
        } else {
            tally.addSharedChunks(shared);
        }
    }

    @Override
    public void close() {
        arena.close();
    }
}
