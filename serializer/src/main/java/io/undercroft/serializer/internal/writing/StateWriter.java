package io.undercroft.serializer.internal.writing;

import io.undercroft.format.internal.ExtentSums;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.IndexBuilder;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.UnknownSection;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveOptions.Sharing;
import io.undercroft.serializer.internal.CommitNumbers;
import io.undercroft.serializer.internal.extents.Extent;
import io.undercroft.serializer.internal.extents.Extent.Place;
import io.undercroft.serializer.internal.extents.ExtentWriter;
import io.undercroft.serializer.internal.extents.ExtentWriter.Destination;
import io.undercroft.serializer.internal.extents.NamedBases;
import io.undercroft.serializer.internal.planning.PlannedStorage;
import io.undercroft.serializer.internal.planning.StatePlan;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;

/// Writes the bytes of a planned state, and their index.
///
/// Each storage is written once, however many tensors use it.
final class StateWriter {
    private final StatePlan plan;
    private final Destination destination;
    private final NamedBases bases;
    private final List<FreeRange> free;
    private final IndexBuilder index;

    /// A snapshot whose bytes are written, and which is not committed yet.
    ///
    /// @param index its index, not written yet
    /// @param end the end of what was written, in bytes from the start of the file
    /// @param report the report of bytes written, reused and skipped
    record Draft(MemorySegment index, long end, DedupReport report) {}

    private StateWriter(StatePlan plan, Destination destination, NamedBases bases, List<FreeRange> free) {
        this.plan = plan;
        this.destination = destination;
        this.bases = bases;
        this.free = free;
        this.index = new IndexBuilder(destination.chunkLog2());
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
    static Draft write(StatePlan plan, SaveOptions options, NamedBases bases, Destination destination,
            List<FreeRange> free) throws IOException {
        return new StateWriter(plan, destination, bases, free).write(options);
    }

    private Draft write(SaveOptions options) throws IOException {
        Snapshot parent = destination.parent();
        plan.addTreeTo(index);
        CommitNumbers.metadata(options.metadata(), options.run(), parent)
                .forEach(index::putMetadata);
        free.forEach(index::addFreeRange);
        if (parent != null) {
            parent.unknownSections().stream().filter(UnknownSection::isSafeToCopy).forEach(index::addUnknownSection);
        }
        if (options.sharing() == Sharing.CONTENT) {
            bases.addTo(destination.known());
        }
        ExtentWriter writer = new ExtentWriter(destination, options);
        addStorages(writer.write(plan.storages()));
        plan.addTensorsTo(index);
        MemorySegment bytes = index.build(parent == null ? 1 : parent.commit().sequence() + 1);
        return new Draft(bytes, writer.position(), writer.report(plan.identity(), bytes.byteSize()));
    }

    /// Bases that no extent names are left out by the builder.
    private void addStorages(Map<Integer, List<Extent>> extents) {
        bases.records().forEach(index::addBase);
        for (PlannedStorage storage : plan.storages()) {
            extents.getOrDefault(storage.number(), List.of()).forEach(this::addExtent);
            index.addStorage(storage.device().toString());
        }
    }

    private void addExtent(Extent extent) {
        switch (extent) {
            case Extent.Zero(long length) -> index.addZeroExtent(length);
            case Extent.Stored(Place place, ExtentSums sums) when place.base() == Place.THIS_FILE ->
                index.addRawExtent(place.offset(), place.length(), sums);
            case Extent.Stored(Place place, ExtentSums sums) ->
                index.addBaseExtent(place.base(), place.offset(), place.length(), sums);
        }
    }
}
