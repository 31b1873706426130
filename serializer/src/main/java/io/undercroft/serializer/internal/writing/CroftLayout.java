package io.undercroft.serializer.internal.writing;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Coding;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.ExtentSums;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.IndexBuilder;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.UnknownSection;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveOptions.Sharing;
import io.undercroft.serializer.internal.CommitNumbers;
import io.undercroft.serializer.internal.extents.CodingPlan;
import io.undercroft.serializer.internal.extents.Extent;
import io.undercroft.serializer.internal.extents.Extent.Place;
import io.undercroft.serializer.internal.extents.ExtentWriter;
import io.undercroft.serializer.internal.extents.ExtentWriter.Destination;
import io.undercroft.serializer.internal.extents.NamedBases;
import io.undercroft.serializer.internal.planning.PlannedStorage;
import io.undercroft.serializer.internal.planning.StatePlan;
import io.undercroft.serializer.spi.Sink;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/// How a `.croft` file is written: the bytes of storages, each once, the indexes, the commit records and the header.
///
/// A new file that is written from its first byte to its last is a sealed one, of one snapshot: its header comes first
/// and its commit record last (section 10.8 of the format). Any other may have several snapshots, and its header is
/// written last. It is invisible until it is committed, so the order of writing does not matter. For use by one thread.
final class CroftLayout implements Sink {
    private static final long MOST_ZEROS = 1 << 16;

    private final Sink sink;
    private final int chunkLog2;
    private final boolean isSealed;
    private final @Nullable UUID uuid;
    private final List<CommitRecord> commits = new ArrayList<>();
    /// The end of what was written to a sealed file, in bytes.
    private long end;

    /// A snapshot whose bytes are written, and which is not committed yet.
    ///
    /// @param index its index, not written yet
    /// @param end the end of what was written, in bytes from the start of the file
    /// @param report the report of bytes written, reused and skipped
    record Written(MemorySegment index, long end, DedupReport report) {}

    /// Starts a new file without snapshots.
    ///
    /// @param sink the sink to write to, whose order decides whether the file is sealed
    /// @param chunkLog2 the logarithm of its chunk size
    /// @param uuid its id, or null if that is to be made of what its first snapshot holds, or at random if it is sealed
    /// @throws IOException if writing fails
    CroftLayout(Sink sink, int chunkLog2, @Nullable UUID uuid) throws IOException {
        this.sink = sink;
        this.chunkLog2 = chunkLog2;
        this.isSealed = sink.order() == Sink.Order.ASCENDING;
        if (isSealed) {
            UUID id = uuid == null ? UUID.randomUUID() : uuid;
            this.uuid = id;
            write(0, Header.sealed(id, chunkLog2).encode());
        } else {
            this.uuid = uuid;
        }
    }

    /// Writes a new file of one snapshot.
    ///
    /// @param plan the state
    /// @param options the other options of the save
    /// @param bases the other files in which bytes may be already
    /// @param sink the sink to write to
    /// @param source the source to read back what was written; null if there is none
    /// @return the report of bytes written, reused and skipped
    /// @throws IOException if reading or writing fails
    static DedupReport writeNew(StatePlan plan, SaveOptions options, NamedBases bases, Sink sink,
            @Nullable ByteSource source) throws IOException {
        int chunkLog2 = chunkLog2(options);
        CroftLayout file = new CroftLayout(sink, chunkLog2, options.uuid().orElse(null));
        Destination destination = Destination.ofNewFile(file, source, chunkLog2, plan.storages().size());
        Written written = write(plan, options, bases, destination, List.of());
        file.add(written.index, written.end, timeMillis(options), options.message());
        file.finish();
        return written.report;
    }

    /// {@return the logarithm of the size of chunks in a new file}
    ///
    /// @param options the options of the save
    static int chunkLog2(SaveOptions options) {
        return Long.numberOfTrailingZeros(options.chunkSize());
    }

    /// {@return the time of a snapshot, or 0}
    ///
    /// @param options the options of the save
    static long timeMillis(SaveOptions options) {
        return options.time().map(Instant::toEpochMilli).orElse(0L);
    }

    /// Writes the bytes of a state.
    ///
    /// @param plan the state
    /// @param options the other options of the save
    /// @param bases the other files in which bytes may be already
    /// @param destination the file
    /// @param free the ranges of the file that the snapshot has to declare free
    /// @return the index to commit
    /// @throws IOException if reading or writing fails
    static Written write(StatePlan plan, SaveOptions options, NamedBases bases, Destination destination,
            List<FreeRange> free) throws IOException {
        IndexBuilder index = new IndexBuilder(destination.chunkLog2());
        Snapshot parent = destination.parent();
        plan.addTreeTo(index);
        CommitNumbers.metadata(options.metadata(), options.run(), parent).forEach(index::putMetadata);
        free.forEach(index::addFreeRange);
        if (parent != null) {
            parent.unknownSections().stream().filter(UnknownSection::isSafeToCopy).forEach(index::addUnknownSection);
        }
        if (options.sharing() == Sharing.CONTENT) {
            bases.addTo(destination.known());
        }
        CodingPlan coding = new CodingPlan(options.compression());
        plan.addTo(coding);
        bases.addTo(coding, parent);
        ExtentWriter writer = new ExtentWriter(destination, options, coding);
        List<List<Extent>> extents = writer.write(plan.storages());
        // Bases that no extent names are left out by the builder.
        bases.records().forEach(index::addBase);
        for (PlannedStorage storage : plan.storages()) {
            extents.get(storage.number()).forEach(extent -> add(extent, index));
            index.addStorage(storage.device().toString());
        }
        plan.addTensorsTo(index);
        MemorySegment bytes = index.build(parent == null ? 1 : parent.commit().sequence() + 1);
        return new Written(bytes, writer.position(), writer.report(plan.identity(), bytes.byteSize()));
    }

    private static void add(Extent extent, IndexBuilder index) {
        switch (extent) {
            case Extent.Zero(long length) -> index.addZeroExtent(length);
            case Extent.Stored(Place place, ExtentSums sums, Coding coding) when coding != null ->
                index.addCodedExtent(place.base(), place.offset(), place.length(), sums, coding);
            case Extent.Stored(Place place, ExtentSums sums, _) when place.base() == Place.THIS_FILE ->
                index.addRawExtent(place.offset(), place.length(), sums);
            case Extent.Stored(Place place, ExtentSums sums, _) ->
                index.addBaseExtent(place.base(), place.offset(), place.length(), sums);
        }
    }

    /// {@return the smallest offset of extents of the next snapshot; the commit slots follow the first snapshot}
    long start() {
        return switch (commits.size()) {
            case 0 -> FileLayout.DATA_START;
            case 1 -> header().slotsEnd();
            default -> FileLayout.placePage(commits.getLast().committedLength());
        };
    }

    /// {@return the number of the next snapshot, from 1}
    long nextSequence() {
        return commits.size() + 1L;
    }

    /// Adds a snapshot whose extents are written.
    ///
    /// @param index its index, built for the next number
    /// @param extentsEnd the end of its extents
    /// @param timeMillis the time at which it was made, or 0
    /// @param message its message
    /// @throws IOException if writing fails
    void add(MemorySegment index, long extentsEnd, long timeMillis, String message) throws IOException {
        long place = FileLayout.placeIndex(extentsEnd);
        CommitRecord commit;
        if (commits.isEmpty()) {
            commit = uuid == null
                    ? CommitRecord.canonical(index, place, timeMillis, message)
                    : CommitRecord.first(index, place, uuid, timeMillis, message);
        } else {
            write(place, commits.getLast().encode());
            place += FileLayout.COMMIT_BYTES;
            commit = commits.getLast().next(index, place, timeMillis, message);
        }
        write(place, index);
        commits.add(commit);
    }

    /// Writes the slots, if there are several snapshots, the first commit record and the header, or the commit record
    /// of a sealed file.
    ///
    /// @throws IOException if writing fails
    void finish() throws IOException {
        if (isSealed) {
            CommitRecord commit = commits.getFirst();
            write(FileLayout.placeIndex(commit.committedLength()), commit.encode());
            return;
        }
        Header header = header();
        for (CommitRecord commit : commits.subList(Math.max(1, commits.size() - 2), commits.size())) {
            write(header.recordOffset(commit.sequence()), commit.encodeSlot());
        }
        write(FileLayout.FIRST_COMMIT, commits.getFirst().encode());
        write(0, header.encode());
    }

    private Header header() {
        CommitRecord first = commits.getFirst();
        return Header.of(first.uuid(), chunkLog2, first.committedLength());
    }

    private void write(long offset, byte[] bytes) throws IOException {
        write(offset, MemorySegment.ofArray(bytes));
    }

    /// Writes bytes of extents, or of what describes them. In a sealed file, what is skipped becomes zeros.
    @Override
    public void write(long offset, MemorySegment bytes) throws IOException {
        if (isSealed) {
            while (end < offset) {
                MemorySegment zeros = MemorySegment.ofArray(new byte[(int) Math.min(MOST_ZEROS, offset - end)]);
                sink.write(end, zeros);
                end += zeros.byteSize();
            }
            end += bytes.byteSize();
        }
        sink.write(offset, bytes);
    }

    @Override
    public Order order() {
        return sink.order();
    }
}
