package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Coder;
import io.undercroft.format.internal.Coding;
import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.ExtentSums;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.StorageRecord;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.Pages;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveOptions.Sharing;
import io.undercroft.serializer.internal.Progress;
import io.undercroft.serializer.internal.Workers;
import io.undercroft.serializer.internal.analysis.Sizes;
import io.undercroft.serializer.internal.extents.CodingPlan.Coded;
import io.undercroft.serializer.internal.extents.Extent.Place;
import io.undercroft.serializer.internal.loading.IncrementalChecksum.Kind;
import io.undercroft.serializer.internal.planning.PlannedStorage;
import io.undercroft.serializer.spi.Sink;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.internal.support.Faults;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.ClosedByInterruptException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Writes the bytes of storages: divides them into chunks and finds a place for each, which is that of equal bytes, or
/// the end of what was written last.
///
/// # The order in the file
///
/// Small storages are written first, packed, and large ones after them, so that only one gap is left for alignment.
/// The bytes of a file depend on the state and the options only, and never on the number of threads or their speed.
///
/// # The threads
///
/// Several threads work at once, each with a block of memory of its own, on a batch of chunks in four steps:
///
/// 1. *Divide.* Cut the next batch: as many chunks as fit into a block. One thread after the other.
/// 2. *Look.* Compare, copy and sum up. All threads at once.
/// 3. *Place.* Decide where each chunk is. One batch after the other, so that the result does not depend on the
///    threads. Shared chunks leave no gap in the block, so that the rest is one run of bytes.
/// 4. *Write.* That run, in one write. All threads at once, unless the file is one that has to be written in order.
///
/// An exception of one thread ends the work of all, and so does an interruption of the thread that saves.
///
/// # The copy
///
/// Bytes are copied to a block before they are written. The copy has four reasons: the checksum is of what is written,
/// even if another thread writes to the tensor meanwhile; a mapped source that was truncated throws instead of killing
/// the JVM; memory stays bounded by some blocks, or by one chunk if that is larger; and writes to the file are few and
/// large. Each chunk is compared, copied and summed up while its bytes are in the cache of the processor; a chunk on a
/// device is copied to the host once.
///
/// Pages of a block are pages of the file, as only whole pages are written with direct I/O.
///
/// # Chunks that have not changed
///
/// A chunk that has not changed since the snapshot before is found by its mapping, or by comparing it with that
/// snapshot's chunk, and is neither copied nor summed up. If that one has to be read from the disk, the sums come
/// first, and it is not read if they differ. Chunks of which no tensor uses a byte, and zeros, become extents that take
/// no space.
public final class ExtentWriter {
    /// The maximum number of bytes of storages that are decoded for a save and in memory together, unless one has more.
    private static final long MOST_DECODED = 128L << 20;
    /// The additional space of chunks in a block, so that pages of the block are pages of the file.
    private static final long PAGES_AROUND = 2 * FileLayout.PAGE;
    /// The maximum number of chunks in a batch, for chunks that take no space.
    private static final int MOST_CHUNKS = 1 << 17;
    /// The number of bytes that are read from the disk at once.
    private static final long READ = 1L << 20;

    private final Destination destination;
    private final ContentIndex known;
    private final SaveOptions options;
    private final CodingPlan coding;
    private final Turns turns = new Turns();
    /// The extents of each storage, by its number.
    private List<List<Extent>> extents = List.of();
    private long position;
    // Bytes of storages that are written, reused and skipped.
    private long unreached;
    private long zeros;
    private long sharedStorages;
    private long sharedChunks;
    private long written;
    private long writtenBefore;
    private long compressed;

    /// The file to which a snapshot is written.
    ///
    /// @param sink the sink for its bytes
    /// @param start the smallest offset of new bytes
    /// @param chunkLog2 the logarithm of the chunk size in bytes
    /// @param parent the snapshot before, or null in a new file
    /// @param known the bytes that it has already, if any of them may be shared; those of new ones are added
    public record Destination(Sink sink, long start, int chunkLog2, @Nullable Snapshot parent, ContentIndex known) {
        /// {@return a new file}
        ///
        /// @param sink the sink for its bytes
        /// @param source the source to read them from; null if there is none
        /// @param chunkLog2 the logarithm of the chunk size in bytes
        /// @param storages the number of storages that it gets
        /// @throws IOException if reading fails
        public static Destination ofNewFile(Sink sink, @Nullable ByteSource source, int chunkLog2, int storages)
                throws IOException {
            ContentIndex known = new ContentIndex(new PlaceTable(storages));
            if (source != null) {
                known.addFile(Place.THIS_FILE, source);
            }
            return new Destination(sink, FileLayout.DATA_START, chunkLog2, null, known);
        }
    }

    /// A writer that has written nothing. Used once.
    ///
    /// @param destination the file
    /// @param options whether chunks may share bytes, and whether zeros are written
    /// @param coding how chunks are compressed
    public ExtentWriter(Destination destination, SaveOptions options, CodingPlan coding) {
        this.destination = destination;
        this.known = destination.known();
        this.options = options;
        this.coding = coding;
        this.position = destination.start();
    }

    /// {@return the end of what was written, in bytes from the start of the file}
    public long position() {
        return position;
    }

    /// {@return a report of the bytes written, reused and skipped}
    ///
    /// @param identity the number of bytes that tensors share by their storages
    /// @param index the size of the index in bytes
    public DedupReport report(long identity, long index) {
        return new DedupReport(unreached + zeros + sharedStorages + sharedChunks + written, identity, unreached, zeros,
                sharedStorages, sharedChunks, written, compressed, index);
    }

    /// Writes storages.
    ///
    /// @param storages the storages
    /// @return the extents of each in order
    /// @throws IOException if reading or writing fails
    public List<List<Extent>> write(List<PlannedStorage> storages) throws IOException {
        List<PlannedStorage> inFileOrder = new ArrayList<>();
        extents = new ArrayList<>(storages.size());
        for (PlannedStorage storage : storages) {
            // Most storages have one extent.
            List<Extent> made = new ArrayList<>(1);
            extents.add(made);
            if (!storage.device().isMeta()) {
                inFileOrder.add(storage);
            } else if (storage.nbytes() > 0) {
                made.add(new Extent.Zero(storage.nbytes()));
            }
        }
        Progress progress = new Progress(options.progress(),
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

    private boolean sharesContent() {
        return options.sharing() == Sharing.CONTENT;
    }

    private void writeBlocks(List<PlannedStorage> storages, Progress progress) throws IOException {
        long space = space(storages);
        if (space == 0) {
            return;
        }
        long chunkBytes = storages.stream().mapToLong(PlannedStorage::nbytes).max().orElse(0);
        long least = Math.min(chunkBytes, 1L << destination.chunkLog2()) + PAGES_AROUND
                + (coding.isCompressing() ? 2 * FileLayout.MAPPING_ALIGNMENT : 0);
        long blockBytes = Math.max(least, Math.min(Blocks.BLOCK, space));
        int threads = PlannedStorage.areOpenToAll(storages) && least <= Blocks.BLOCK
                ? (int) Math.min(mostThreads(storages), Math.ceilDiv(space, blockBytes))
                : 1;
        Chunker chunker = new Chunker(storages, blockBytes);
        int parts = coding.isCompressing() ? 2 : 1;
        try (Blocks blocks = Blocks.allocate(parts * threads, blockBytes)) {
            turns.work(threads, number -> {
                try (Worker worker = new Worker(blocks.get(parts * number),
                        coding.isCompressing() ? blocks.get(parts * number + 1) : MemorySegment.NULL)) {
                    for (Batch batch = chunker.next(); batch != null; batch = chunker.next()) {
                        worker.work(batch);
                        progress.add(batch.nbytes());
                    }
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

    /// Returns the offset of a chunk in a block. After coded chunks, the next one may have to be moved in the block by
    /// up to its alignment, and must not reach the one after it.
    private long placeInBlock(Chunk chunk, long end) {
        return chunk.place(end) + (coding.isCompressing() ? chunk.alignment() : 0);
    }

    // 1. Divide

    /// What is known of the bytes of a chunk before they are read.
    enum Content {
        /// Tensors use some of them.
        REACHED,
        /// Nothing that is not known to be zero is used.
        ZEROS,
        /// No tensor uses them.
        UNREACHED
    }

    /// A run of bytes of a storage that is compared, shared and written as one.
    ///
    /// @param storage the storage
    /// @param start its first byte in the storage
    /// @param length the number of bytes
    /// @param content whether it is worth saving
    /// @param before the chunk at the same position in the snapshot before, in the file itself; null if there is none
    /// @param alignment the alignment of its offset in the file, unless it is coded
    /// @param width the size of its elements in bytes; 0 if it is not coded
    /// @param reference the place of the bytes that it is coded against; null if there are none
    record Chunk(PlannedStorage storage, long start, long length, Content content, Extent.@Nullable Stored before,
            long alignment, int width, @Nullable Place reference) {
        boolean isReached() {
            return content == Content.REACHED;
        }

        /// {@return its bytes: in place, or a copy in the buffer if they are on a device}
        ///
        /// @param buffer memory of the host, of the size of the chunk if it is on a device
        /// @throws IllegalStateException if the storage is closed, or was resized since the save was planned
        MemorySegment bytes(MemorySegment buffer) {
            return storage.slice(start, length, buffer);
        }

        boolean isOnDevice() {
            return storage.bytes().areOnDevice();
        }

        /// {@return whether its bytes can be read until the save ends, in place}
        boolean staysInMemory() {
            return !storage.bytes().areOnDevice() && !storage.bytes().areDecoded();
        }

        /// {@return the first offset at or after a position at which it may start}
        long place(long position) {
            return FileLayout.alignUp(position, alignment);
        }

        boolean isFirst() {
            return start == 0;
        }

        boolean isLast() {
            return start + length == storage.nbytes();
        }
    }

    /// Chunks that share a block of memory and are written to the file in one write.
    ///
    /// @param number its number, from 0, in the order of the file
    /// @param chunks at least one; all have the same alignment
    /// @param start the offset of the first chunk in the block, in bytes
    private record Batch(long number, List<Chunk> chunks, long start) {
        long nbytes() {
            return chunks.stream().mapToLong(Chunk::length).sum();
        }
    }

    /// Divides storages into chunks and distributes them in batches. Safe for use by several threads.
    private final class Chunker {
        private final Iterator<PlannedStorage> storages;
        private final long blockBytes;
        private final @Nullable Snapshot parent = sharesContent() ? destination.parent() : null;
        private @Nullable PlannedStorage storage;
        /// The end of the last chunk in the storage.
        private long start;
        /// The offset of the next chunk in the file, if all chunks before it are written.
        private long place = position;
        private @Nullable Chunk next;
        private long batches;
        // The next extent of the storage of the same number in the snapshot before, its start in the storage, and the
        // number of the first extent that is not of that storage.
        private int extent;
        private long extentStart;
        private int extentsEnd;

        Chunker(List<PlannedStorage> storages, long blockBytes) {
            this.storages = storages.iterator();
            this.blockBytes = blockBytes;
        }

        /// {@return the next batch, or null if there is none} Its chunks fit in a block, with the alignment of the
        /// file. It touches at most one storage that is decoded.
        synchronized @Nullable Batch next() {
            List<Chunk> chunks = new ArrayList<>();
            long first = 0;
            long end = 0;
            for (Chunk chunk = peek(); chunk != null && chunks.size() < MOST_CHUNKS; chunk = peek()) {
                if (end == 0 && chunk.isReached()) {
                    first = startInBlock(chunk);
                    end = first;
                }
                long endWithIt = chunk.isReached()
                        ? placeInBlock(chunk, end) + chunk.length()
                        : end;
                if (!chunks.isEmpty()
                        && (endWithIt > blockBytes || chunk.alignment() != chunks.getFirst().alignment()
                                || (chunk.isFirst() && chunk.storage().bytes().areDecoded()))) {
                    break;
                }
                chunks.add(chunk);
                end = endWithIt;
                place = chunk.isReached() ? chunk.place(place) + chunk.length() : place;
                next = null;
            }
            return chunks.isEmpty() ? null : new Batch(batches++, chunks, first);
        }

        /// The additional first page allows chunks to be moved forward in the block if chunks before them were shared.
        private long startInBlock(Chunk chunk) {
            return chunk.alignment() < FileLayout.PAGE || coding.isCompressing()
                    ? FileLayout.PAGE + chunk.place(place) % FileLayout.PAGE
                    : 0;
        }

        private @Nullable Chunk peek() {
            if (next == null) {
                next = cut();
            }
            return next;
        }

        private @Nullable Chunk cut() {
            while (storage == null || start == storage.nbytes()) {
                if (!storages.hasNext()) {
                    return null;
                }
                begin(storages.next());
            }
            long length = Math.min(1L << destination.chunkLog2(), storage.nbytes() - start);
            boolean isReached = storage.reaches(start, start + length);
            if (!isReached) {
                length = unread(storage, length);
            }
            Content unread = storage.hasZeros(start, start + length) ? Content.ZEROS : Content.UNREACHED;
            Chunk chunk = new Chunk(storage, start, length, isReached ? Content.REACHED : unread,
                    isReached ? before(length) : null, alignment(storage), coding.width(storage.number(), length),
                    coding.reference(storage.number(), start, length));
            start += length;
            return chunk;
        }

        private void begin(PlannedStorage next) {
            storage = next;
            start = 0;
            extent = 0;
            extentsEnd = 0;
            extentStart = 0;
            if (parent != null && next.number() < parent.storageCount()) {
                StorageRecord former = parent.storage(next.number());
                extent = former.firstExtent();
                extentsEnd = extent + former.extentCount();
            }
        }

        /// Returns the length of the whole chunks from the start on that need not be read: they may be very many.
        private long unread(PlannedStorage of, long least) {
            long end = of.endOfUnread(start);
            return end == of.nbytes()
                    ? end - start
                    : Math.max(least, (end - start) & -(1L << destination.chunkLog2()));
        }

        /// Returns the extent that is exactly the next bytes in the storage of the same number, and in the file itself.
        /// Usually that is the same storage, with few changed chunks.
        private Extent.@Nullable Stored before(long length) {
            while (parent != null && extent < extentsEnd && extentStart <= start) {
                ExtentRecord record = parent.extent(extent);
                if (extentStart == start) {
                    // The number of the file of a reference may be another one here.
                    Coding stored = record.coding();
                    boolean fits = (record.kind() == ExtentKind.RAW || (stored != null
                            && stored.referenceBase() == ExtentRecord.THIS_FILE))
                            && record.base() == ExtentRecord.THIS_FILE && record.length() == length;
                    return fits ? new Extent.Stored(Place.of(record, Place.THIS_FILE), record.sums(), stored) : null;
                }
                extentStart += record.length();
                extent++;
            }
            return null;
        }
    }

    /// One of the threads: its block of memory, and the run of bytes in it that is to be written.
    private final class Worker implements AutoCloseable {
        private final MemorySegment block;
        /// Memory for coded bytes of the chunks of a batch, at the same offsets as their bytes in the block.
        private final MemorySegment codes;
        private final Coder coder = Coder.open();
        private final Coder second = Coder.open();
        private final ExtentDigester digester = new ExtentDigester();
        private @Nullable Allocation pages;
        // The run: its start in the block, its offset in the file, and its length.
        private long start;
        private long offset;
        private long length;

        Worker(MemorySegment block, MemorySegment codes) {
            this.block = block;
            this.codes = codes;
        }

        void work(Batch batch) throws IOException {
            turns.check();
            List<Outcome> outcomes = look(batch);
            turns.await(batch.number());
            place(batch, outcomes);
            batch.chunks().stream().filter(Chunk::isLast).forEach(chunk -> release(chunk.storage()));
            if (destination.sink().order() == Sink.Order.CONCURRENT) {
                turns.end();
                write();
            } else {
                write();
                turns.end();
            }
        }

        private static void release(PlannedStorage storage) {
            if (storage.bytes().areDecoded()) {
                storage.checkNotCut();
                storage.bytes().release();
            }
        }

        // 2. Look

        /// Compares the chunks of a batch, and copies those that may have to be written into the block, in the order
        /// and with the alignment of the file.
        private List<Outcome> look(Batch batch) throws IOException {
            List<Outcome> outcomes = new ArrayList<>(batch.chunks().size());
            long end = batch.start();
            for (Chunk chunk : batch.chunks()) {
                long at = placeInBlock(chunk, end);
                Outcome outcome = chunk.isReached() ? look(chunk, at) : new Outcome.Omitted();
                boolean takesSpace = outcome instanceof Outcome.Copied
                        || (chunk.isOnDevice() && outcome instanceof Outcome.Unchanged);
                end = takesSpace ? at + chunk.length() : end;
                outcomes.add(outcome);
            }
            return outcomes;
        }

        private Outcome look(Chunk chunk, long at) throws IOException {
            boolean wasInterrupted = Thread.currentThread().isInterrupted();
            try {
                // Those of a device are copied to their place in the block.
                MemorySegment bytes = chunk.bytes(block.asSlice(at));
                ContentIndex.Mapped mapped = known.mapped(chunk);
                if (mapped.same() != null && !mayBeOmitted(chunk, mapped.same())) {
                    return new Outcome.Unchanged(mapped.same(), bytes);
                }
                if (omitsZeros(chunk) && areZero(bytes)) {
                    chunk.storage().check(chunk.start(), chunk.start() + chunk.length());
                    return new Outcome.Omitted();
                }
                Extent.Stored before = mapped.isShared() ? null : chunk.before();
                if (before == null
                        || (before.coding() == null && before.place().offset() % chunk.alignment() != 0)) {
                    return copied(chunk, at, copy(chunk, bytes, at));
                }
                if (before.coding() == null && known.isOnDisk(before.place())) {
                    ExtentSums sums = copy(chunk, bytes, at);
                    return sums.digest().equals(before.sums().digest())
                            && known.isSameOnDisk(block.asSlice(at, chunk.length()), before.place(), pages())
                                    ? new Outcome.Unchanged(before, bytes)
                                    : copied(chunk, at, sums);
                }
                return known.isSame(bytes, before.place(), before.coding())
                        ? new Outcome.Unchanged(before, bytes)
                        : copied(chunk, at, copy(chunk, bytes, at));
            } catch (InternalError e) {
                return Pages.guard(chunk.bytes(block.asSlice(at)), () -> {
                    throw e;
                });
            } catch (IllegalStateException e) {
                throw Faults.ended(e, wasInterrupted, () -> chunk.bytes(block.asSlice(at)));
            }
        }

        private boolean omitsZeros(Chunk chunk) {
            return options.omitsZeros(chunk.storage().nbytes());
        }

        /// Returns whether an extent may be all zero, as far as its checksum says. The snapshot may have been saved
        /// with zeros.
        private boolean mayBeOmitted(Chunk chunk, Extent.Stored extent) {
            return omitsZeros(chunk) && extent.sums().checksum() == Kind.CRC32C.ofZeros(chunk.length());
        }

        /// Returns whether the first byte is zero and each equals the one before it.
        private static boolean areZero(MemorySegment bytes) {
            long rest = bytes.byteSize() - 1;
            return bytes.get(ValueLayout.JAVA_BYTE, 0) == 0
                    && Faults.haveSameBytes(bytes.asSlice(0, rest), bytes.asSlice(1));
        }

        /// Copies bytes of a chunk into the block and sums up the copy. Those of a device are there already.
        private ExtentSums copy(Chunk chunk, MemorySegment bytes, long at) {
            if (chunk.isOnDevice()) {
                digester.update(bytes);
            } else {
                digester.copy(bytes, block.asSlice(at, chunk.length()));
            }
            return digester.finish();
        }

        private Outcome copied(Chunk chunk, long at, ExtentSums sums) throws IOException {
            chunk.storage().check(chunk.start(), chunk.start() + chunk.length(), sums.checksum());
            return new Outcome.Copied(at, sums, chunk.width() == 0 ? null : code(chunk, at));
        }

        /// Codes a chunk from the block into the memory for coded bytes, which has the reference before.
        private @Nullable Coding code(Chunk chunk, long at) throws IOException {
            MemorySegment there = codes.asSlice(at, chunk.length());
            Place reference = chunk.reference();
            if (reference != null) {
                known.read(reference.base(), reference.offset(), there);
            }
            Coded coded = Coded.shortest(coder, second, block.asSlice(at, chunk.length()), chunk.width(),
                    reference == null ? null : there);
            if (coded == null) {
                return null;
            }
            there.copyFrom(coded.bytes());
            return coded.coding(reference == null ? 0 : reference.base(), reference == null ? 0 : reference.offset());
        }

        /// Returns memory for bytes of the disk, aligned to pages. It stays in the cache of the processor.
        private MemorySegment pages() {
            if (pages == null) {
                pages = AnonymousMemory.allocator().allocate(READ);
            }
            return pages.segment();
        }

        // 3. Place

        /// Finds places for the chunks of a batch, and moves those that must be written together in the block.
        private void place(Batch batch, List<Outcome> outcomes) throws IOException {
            length = 0;
            for (int i = 0; i < outcomes.size(); i++) {
                Chunk chunk = batch.chunks().get(i);
                if (chunk.isFirst()) {
                    writtenBefore = written;
                }
                List<Extent> before = extents.get(chunk.storage().number());
                place(chunk, outcomes.get(i), before);
                if (chunk.isLast()) {
                    countShared(chunk.storage().number(), before);
                }
            }
        }

        private void place(Chunk chunk, Outcome outcome, List<Extent> before) throws IOException {
            switch (outcome) {
                case Outcome.Omitted() -> {
                    if (chunk.content() == Content.UNREACHED) {
                        unreached += chunk.length();
                    } else {
                        zeros += chunk.length();
                    }
                    addZeros(before, chunk.length());
                }
                case Outcome.Unchanged(Extent.Stored same, MemorySegment bytes) -> {
                    Place place = known.find(bytes, same.sums().digest(), chunk.alignment(), end(before),
                            same.place());
                    before.add(place == null || place.equals(same.place())
                            ? same
                            : new Extent.Stored(place, same.sums(), known.coding(place)));
                }
                case Outcome.Copied(long at, ExtentSums sums, Coding coded) -> {
                    MemorySegment bytes = block.asSlice(at, chunk.length());
                    Place place = sharesContent()
                            ? known.find(bytes, sums.digest(), chunk.alignment(), end(before), null)
                            : null;
                    before.add(place == null
                            ? new Extent.Stored(append(chunk, at, sums, coded), sums, coded)
                            : new Extent.Stored(place, sums, known.coding(place)));
                }
            }
        }

        /// Closes the gap that shared and coded chunks have left in the block before this one. The first chunk is moved
        /// so that pages of the block are pages of the file.
        private Place append(Chunk chunk, long at, ExtentSums sums, @Nullable Coding coded) {
            long stored = coded == null ? chunk.length() : coded.length();
            Place place = new Place(Place.THIS_FILE,
                    coded == null ? chunk.place(position) : FileLayout.alignUp(position, FileLayout.SMALL_ALIGNMENT),
                    chunk.length());
            if (length == 0) {
                offset = place.offset();
                start = at - Math.floorMod(at - place.offset(), FileLayout.PAGE);
            }
            long to = start + place.offset() - offset;
            if (coded != null) {
                block.asSlice(to, stored).copyFrom(codes.asSlice(at, stored));
            } else if (to != at) {
                block.asSlice(to, stored).copyFrom(block.asSlice(at, stored));
            }
            long end = start + length;
            block.asSlice(end, to - end).fill((byte) 0);
            length = to + stored - start;
            known.addUnwritten(offset, block.asSlice(start, length));
            position = place.offset() + stored;
            written += chunk.length();
            compressed += chunk.length() - stored;
            if (sharesContent()) {
                known.add(sums.digest(), place, coded, chunk);
            }
            return place;
        }

        private static @Nullable Place end(List<Extent> extents) {
            return !extents.isEmpty() && extents.getLast() instanceof Extent.Stored(Place place, _, _)
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

        private void countShared(int number, List<Extent> extents) {
            long writtenOfIt = written - writtenBefore;
            long shared = -writtenOfIt;
            List<Place> places = new ArrayList<>(extents.size());
            for (Extent extent : extents) {
                if (extent instanceof Extent.Stored(Place place, _, _)) {
                    places.add(place);
                    shared += place.length();
                }
            }
            if (writtenOfIt == 0 ? known.addFoundStorage(number, places) : known.addStorage(places)) {
                sharedStorages += shared;
            } else {
                sharedChunks += shared;
            }
        }

        // 4. Write

        private void write() throws IOException {
            if (length > 0) {
                destination.sink().write(offset, block.asSlice(start, length));
                known.written(offset);
            }
        }

        @Override
        public void close() {
            coder.close();
            second.close();
            if (pages != null) {
                pages.free();
            }
        }
    }

    /// The result of looking for the bytes of a chunk, before its place is decided.
    private sealed interface Outcome {
        /// It is not read, or all zero, and takes no space.
        record Omitted() implements Outcome {}

        /// The snapshot before has the same bytes at this position.
        ///
        /// @param stored the place of its bytes
        /// @param bytes its bytes
        record Unchanged(Extent.Stored stored, MemorySegment bytes) implements Outcome {}

        /// Its bytes were copied into the block.
        ///
        /// @param at the offset in the block
        /// @param sums over the copy
        /// @param coding how it is stored if nothing else has the bytes; null if as it is
        record Copied(long at, ExtentSums sums, @Nullable Coding coding) implements Outcome {}
    }

    /// Threads that work together, in some steps at once and in others one after the other. An exception of one of them
    /// ends the work of all, and so does an interruption of the thread that waits for them. All have ended when [#work]
    /// returns.
    private static final class Turns {
        private long turn;
        private @Nullable Throwable failure;

        /// Ends a thread because another one failed.
        private static final class StoppedException extends RuntimeException {
            private static final long serialVersionUID = 1L;

            StoppedException() {
                super(null, null, false, false);
            }
        }

        /// Works until all are done. If there is only one, that is the calling thread.
        ///
        /// @param members the number of threads
        /// @param work the work of a thread, given its number from 0
        /// @throws IOException if one of them throws it; anything else that one throws is thrown as it is, too
        /// @throws ClosedByInterruptException if the calling thread is interrupted
        void work(int members, Workers.Work<Integer> work) throws IOException {
            if (members == 1) {
                work.on(0);
                return;
            }
            List<Thread> threads = new ArrayList<>();
            try {
                for (int i = 0; i < members; i++) {
                    int member = i;
                    threads.add(Thread.ofPlatform().daemon().name("undercroft-save-" + member)
                            .start(() -> run(member, work)));
                }
            } catch (Throwable e) {
                fail(e);
            }
            // Also when interrupted: they use what the caller frees afterwards.
            Workers.join(threads, () -> fail(new ClosedByInterruptException()));
            synchronized (this) {
                Workers.rethrow(failure);
            }
        }

        private void run(int member, Workers.Work<Integer> work) {
            try {
                work.on(member);
            } catch (StoppedException _) {
                // The worker that failed has thrown the cause.
            } catch (Throwable e) {
                fail(e);
            }
        }

        private synchronized void fail(Throwable e) {
            if (failure == null) {
                failure = e;
            }
            notifyAll();
        }

        /// Ends the work of a member if another one has failed.
        synchronized void check() {
            if (failure != null) {
                throw new StoppedException();
            }
        }

        /// Waits for a turn. Turns follow in the order of their numbers, each after the previous one has [ended][#end].
        ///
        /// @param number the number, from 0
        synchronized void await(long number) {
            while (turn != number) {
                check();
                try {
                    wait();
                } catch (InterruptedException e) {
                    throw new IllegalStateException("this thread is not interrupted", e);
                }
            }
            check();
        }

        /// Ends a turn.
        synchronized void end() {
            turn++;
            notifyAll();
        }
    }
}
