package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.ExtentSums;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.analysis.Sizes;
import io.undercroft.serializer.SaveOptions.Sharing;
import io.undercroft.serializer.internal.Progress;
import io.undercroft.serializer.internal.planning.PlannedStorage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// Divides storages into chunks and finds a place for each: that of equal bytes, or the end of what was written last.
/// Small storages are written first, packed, and large ones after them, so that only one gap is left for alignment.
///
/// Bytes are copied to blocks of memory before they are written. The copy has four reasons: the checksum is of what is
/// written, even if another thread writes to the tensor meanwhile; a mapped source that was truncated throws instead of
/// killing the JVM; memory stays bounded by some blocks, or by one chunk if that is larger; and writes to the file are
/// few and large.
/// A chunk that has not changed since the snapshot before is found by comparing it with that one's, where both are, and
/// is neither copied nor summed up. If that one's has to be read from the disk, the sums come first, and it is not read
/// if they differ.
///
/// Several threads work at once, each with its own block, on a batch of chunks in three steps:
///
/// 1. *Look.* Compare, copy and sum up. All threads at once.
/// 2. *Place.* Decide where each chunk is. One batch after the other, so that the result does not depend on the
///    threads. Shared chunks leave no gap in the block, so that the rest is one run of bytes.
/// 3. *Write.* That run, in one write. All threads at once, unless the file is one that has to be written in order.
public final class StorageWriter {
    /// The maximum number of bytes of storages that are decoded for a save and in memory together, unless one has more.
    private static final long MOST_DECODED = 128L << 20;

    /// The additional space of chunks in a block, so that pages of the block are pages of the file.
    private static final long PAGES_AROUND = 2 * FileLayout.PAGE;

    private final Destination destination;
    private final ContentIndex candidates;
    private final SaveOptions options;
    private final OrderedWorkers workers = new OrderedWorkers();
    private final ByteCounts counts = new ByteCounts();
    private final Map<Integer, List<Extent>> extents = new HashMap<>();
    private long writtenBefore;
    private long position;

    /// A writer that has written nothing. Used once.
    ///
    /// @param destination the file
    /// @param candidates the places where equal bytes may be stored
    /// @param options whether chunks may share bytes, and whether zeros are written
    public StorageWriter(Destination destination, ContentIndex candidates, SaveOptions options) {
        this.destination = destination;
        this.candidates = candidates;
        this.options = options;
        this.position = destination.start();
    }

    /// {@return the end of what was written, in bytes from the start of the file}
    public long position() {
        return position;
    }

    /// {@return the report of bytes written, reused and skipped}
    public ByteCounts counts() {
        return counts;
    }

    /// Writes storages.
    ///
    /// @param storages the storages
    /// @return the extents of each in order, by its number
    /// @throws IOException if reading or writing fails
    public Map<Integer, List<Extent>> write(List<PlannedStorage> storages) throws IOException {
        List<PlannedStorage> inFileOrder = new ArrayList<>();
        for (PlannedStorage storage : storages) {
            if (!storage.device().isMeta()) {
                inFileOrder.add(storage);
            } else if (storage.nbytes() > 0) {
                extents.put(storage.number(), List.of(new Extent.Zero(storage.nbytes())));
            }
        }
        Progress progress = new Progress(options.request().progress(),
                Sizes.sum(inFileOrder.stream().mapToLong(PlannedStorage::nbytes)));
        inFileOrder.sort(Comparator.comparing(this::alignment));
        try {
            writeBlocks(inFileOrder, progress);
        } finally {
            inFileOrder.forEach(storage -> storage.bytes().release());
        }
        return extents;
    }

    private long alignment(PlannedStorage storage) {
        return FileLayout.alignment(storage.nbytes(), destination.chunkLog2());
    }

    private void writeBlocks(List<PlannedStorage> storages, Progress progress) throws IOException {
        long space = space(storages);
        if (space == 0) {
            return;
        }
        long chunkBytes = storages.stream().mapToLong(PlannedStorage::nbytes).max().orElse(0);
        long least = Math.min(chunkBytes, 1L << destination.chunkLog2()) + PAGES_AROUND;
        long blockBytes = Math.max(least, Math.min(Blocks.BLOCK, space));
        int threads = PlannedStorage.areOpenToAll(storages) && least <= Blocks.BLOCK
                ? (int) Math.min(mostThreads(storages), Math.ceilDiv(space, blockBytes))
                : 1;
        Chunker chunker = new Chunker(storages, destination.chunkLog2(),
                options.request().sharing() == Sharing.CONTENT ? destination.parent() : null, blockBytes, position);
        try (Blocks blocks = Blocks.allocate(threads, blockBytes)) {
            workers.work(threads, number -> {
                try (ChunkWorker worker = new ChunkWorker(blocks.get(number), candidates, options)) {
                    write(chunker, worker, progress);
                }
            });
        }
        storages.forEach(PlannedStorage::checkNotCut);
    }

    /// Returns how many threads may write. Each reads one batch at a time, which touches at most one storage that is
    /// decoded, and storages are released in the order of the file.
    private static long mostThreads(List<PlannedStorage> storages) {
        long largest = storages.stream().filter(storage -> storage.bytes().areDecoded())
                .mapToLong(PlannedStorage::nbytes).max().orElse(0);
        return largest == 0 ? Blocks.MOST : Math.clamp(MOST_DECODED / largest, 1, Blocks.MOST);
    }

    /// Returns the maximum space of storages, or the size of all blocks if that is less.
    private long space(List<PlannedStorage> storages) {
        long space = 0;
        for (PlannedStorage storage : storages) {
            space = FileLayout.placeExtent(space, storage.nbytes(), destination.chunkLog2())
                    + Math.min(storage.nbytes(), Blocks.MOST * Blocks.BLOCK);
            if (space >= Blocks.MOST * Blocks.BLOCK) {
                return Blocks.MOST * Blocks.BLOCK;
            }
        }
        return space == 0 ? 0 : FileLayout.placePage(space) + PAGES_AROUND;
    }

    private void write(Chunker chunker, ChunkWorker worker, Progress progress) throws IOException {
        for (Batch batch = chunker.next(); batch != null; batch = chunker.next()) {
            workers.check();
            List<ChunkOutcome> outcomes = worker.look(batch);
            workers.awaitTurn(batch.number());
            Run run = place(batch, outcomes, new Run(worker.block()));
            batch.chunks().stream().filter(Chunk::isLast).forEach(chunk -> release(chunk.storage()));
            if (destination.sink().takesAnyOrder()) {
                workers.endTurn();
                write(run);
            } else {
                write(run);
                workers.endTurn();
            }
            progress.add(batch.nbytes());
        }
    }

    private static void release(PlannedStorage storage) {
        if (storage.bytes().areDecoded()) {
            storage.checkNotCut();
            storage.bytes().release();
        }
    }

    /// Bytes of a block that are to be written.
    private static final class Run {
        private final MemorySegment block;
        private long start;
        private long offset;
        private long length;

        Run(MemorySegment block) {
            this.block = block;
        }

        MemorySegment bytes() {
            return block.asSlice(start, length);
        }
    }

    private void write(Run run) throws IOException {
        if (run.length > 0) {
            destination.sink().write(run.offset, run.bytes());
            candidates.unwritten().remove(run.offset);
        }
    }

    /// Finds places for the chunks of a batch, and moves those that must be written together in the block.
    private Run place(Batch batch, List<ChunkOutcome> outcomes, Run run) throws IOException {
        for (int i = 0; i < outcomes.size(); i++) {
            Chunk chunk = batch.chunks().get(i);
            if (chunk.isFirst()) {
                writtenBefore = counts.written;
            }
            List<Extent> before = extents.computeIfAbsent(chunk.storage().number(), _ -> new ArrayList<>());
            place(chunk, outcomes.get(i), before, run);
            if (chunk.isLast()) {
                countShared(chunk.storage().number(), before, counts.written - writtenBefore);
            }
        }
        return run;
    }

    private void place(Chunk chunk, ChunkOutcome outcome, List<Extent> before, Run run) throws IOException {
        switch (outcome) {
            case ChunkOutcome.Unreached() -> {
                counts.unreached += chunk.length();
                addZeros(before, chunk.length());
            }
            case ChunkOutcome.Zeros() -> {
                counts.zeros += chunk.length();
                addZeros(before, chunk.length());
            }
            case ChunkOutcome.Unchanged(Extent.Stored same, MemorySegment bytes) -> {
                Place place = candidates.find(bytes, same.sums().digest(), chunk.alignment(), end(before),
                        same.place());
                before.add(new Extent.Stored(place == null ? same.place() : place, same.sums()));
            }
            case ChunkOutcome.Copied(long at, ExtentSums sums) -> {
                MemorySegment bytes = run.block.asSlice(at, chunk.length());
                Place place = options.request().sharing() == Sharing.CONTENT
                        ? candidates.find(bytes, sums.digest(), chunk.alignment(), end(before), null)
                        : null;
                before.add(new Extent.Stored(place == null ? append(chunk, at, sums, run) : place, sums));
            }
        }
    }

    /// Closes the gap that shared chunks have left in the block before this one. The first chunk is moved so that pages
    /// of the block are pages of the file.
    private Place append(Chunk chunk, long at, ExtentSums sums, Run run) {
        Place place = new Place(Place.THIS_FILE, chunk.place(position), chunk.length());
        if (run.length == 0) {
            run.offset = place.offset();
            run.start = at - Math.floorMod(at - place.offset(), FileLayout.PAGE);
        }
        long to = run.start + place.offset() - run.offset;
        if (to != at) {
            run.block.asSlice(to, chunk.length()).copyFrom(run.block.asSlice(at, chunk.length()));
        }
        long end = run.start + run.length;
        run.block.asSlice(end, to - end).fill((byte) 0);
        run.length = to + chunk.length() - run.start;
        candidates.unwritten().put(run.offset, run.bytes());
        position = place.end();
        counts.written += place.length();
        if (destination.source() != null) {
            candidates.add(sums.digest(), place);
        } else if (chunk.staysInMemory()) {
            candidates.addWritten(sums.digest(), place, chunk);
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

    private void countShared(int number, List<Extent> extents, long written) {
        List<Place> places = new ArrayList<>();
        for (Extent extent : extents) {
            if (extent instanceof Extent.Stored(Place place, ExtentSums _)) {
                places.add(place);
            }
        }
        long shared = places.stream().mapToLong(Place::length).sum() - written;
        if (written == 0 ? candidates.addFoundStorage(number, places) : candidates.addStorage(places)) {
            counts.sharedStorages += shared;
        } else {
            counts.sharedChunks += shared;
        }
    }
}
