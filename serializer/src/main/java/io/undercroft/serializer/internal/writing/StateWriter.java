package io.undercroft.serializer.internal.writing;

import io.undercroft.format.DTypeRecord;
import io.undercroft.format.ExtentSums;
import io.undercroft.format.IndexBuilder;
import io.undercroft.format.Layout;
import io.undercroft.format.TensorRecord;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.TensorFlags;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// Writes the bytes of a state, and makes the index that says what they are.
///
/// Each storage is written once, however many tensors stand on it. Small storages come first, packed, and large ones after
/// them, so that only one gap is left for alignment; numbers keep the order of first use.
final class StateWriter {
    private final StateIndex names;
    private final Destination destination;
    private final NamedBases bases;
    private final IndexBuilder index;
    private final Numbering<Storage> storages;
    private final Numbering<Tensor> tensors;

    /// A snapshot whose bytes are written, and which is not committed yet.
    ///
    /// @param index its index, not written yet
    /// @param end the end of what was written, in bytes from the start of the file
    /// @param report what became of the bytes of the state
    record Draft(MemorySegment index, long end, DedupReport report) {}

    private StateWriter(StateIndex names, Destination destination, NamedBases bases) {
        this.names = names;
        this.destination = destination;
        this.bases = bases;
        this.index = new IndexBuilder(destination.chunkLog2());
        this.storages = new Numbering<>(names.storages());
        this.tensors = new Numbering<>(names.tensors().values());
    }

    /// Writes the bytes of a state.
    ///
    /// @param state the root of the tree
    /// @param options what else to save, and how
    /// @param bases the other files in which bytes may stand already
    /// @param destination the file
    /// @return what has to be committed
    /// @throws IOException if reading or writing fails
    /// @throws IllegalArgumentException if the state holds something that cannot be saved
    static Draft write(@Nullable Object state, SaveOptions options, NamedBases bases, Destination destination)
            throws IOException {
        return new StateWriter(StateIndex.of(state), destination, bases).write(state, options);
    }

    private Draft write(@Nullable Object state, SaveOptions options) throws IOException {
        // Before any bulk byte is written, so that a state which cannot be saved is refused at once.
        index.setTree(StateEncoder.encode(state, numbers()));
        options.metadata().forEach(index::putMetadata);
        destination.free().forEach(index::addFreeRange);
        destination.unknownSections().forEach(index::addUnknownSection);
        Reach reach = options.savesWholeStorages() ? Reach.whole(names) : Reach.of(names);
        try (Candidates candidates = candidates(options);
                StorageWriter writer = new StorageWriter(destination, reach, candidates, options)) {
            addStorages(extents(writer));
            addTensors();
            MemorySegment bytes = index.build(destination.sequence());
            return new Draft(bytes, writer.position(),
                    writer.tally().report(reach.identity(), bytes.byteSize()));
        }
    }

    private Candidates candidates(SaveOptions options) throws IOException {
        Candidates candidates = new Candidates();
        if (options.sharing() == SaveOptions.Sharing.CONTENT) {
            destination.addTo(candidates);
            bases.addTo(candidates);
        }
        return candidates;
    }

    private StateEncoder.Numbers numbers() {
        return new StateEncoder.Numbers() {
            @Override
            public int of(Tensor tensor) {
                return tensors.of(tensor);
            }

            @Override
            public int of(Storage storage) {
                return storages.of(storage);
            }

            @Override
            public int of(DType dtype) {
                return index.addDType(new DTypeRecord(dtype.name(), dtype.bits()));
            }
        };
    }

    /// Writes the storages; returns the extents of each, in the order of numbers.
    private List<List<Extent>> extents(StorageWriter writer) throws IOException {
        List<Storage> inFileOrder = new ArrayList<>(storages.inOrder());
        inFileOrder.sort(Comparator.comparing(storage -> Layout.alignment(storage.nbytes())));
        Map<Storage, List<Extent>> extents = new HashMap<>();
        for (Storage storage : inFileOrder) {
            extents.put(storage, writer.write(storage, storages.of(storage)));
        }
        return storages.inOrder().stream().map(storage -> extents.getOrDefault(storage, List.of())).toList();
    }

    /// Bases that no extent names are left out by the builder.
    private void addStorages(List<List<Extent>> extents) {
        bases.records().forEach(index::addBase);
        for (int number = 0; number < extents.size(); number++) {
            extents.get(number).forEach(this::addExtent);
            index.addStorage(storages.inOrder().get(number).device().toString());
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

    private void addTensors() {
        tensors.inOrder().forEach(tensor -> index.addTensor(record(tensor)));
        names.tensors().forEach((name, tensor) -> index.addName(name, tensors.of(tensor)));
    }

    private TensorRecord record(Tensor tensor) {
        DType dtype = tensor.dtype();
        long bits = dtype.isByteSized() ? 0 : Math.multiplyExact(tensor.storageOffset(), dtype.bits());
        long bytes = dtype.isByteSized() ? Math.multiplyExact(tensor.storageOffset(), dtype.itemsize()) : bits / 8;
        return new TensorRecord(numbers().of(dtype), storages.of(tensor.storage()), bytes, (int) (bits % 8),
                TensorFlags.toFile(tensor.flags()), tensor.shape().toArray(), tensor.stride());
    }
}
