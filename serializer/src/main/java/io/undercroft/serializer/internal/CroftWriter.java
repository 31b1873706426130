package io.undercroft.serializer.internal;

import io.undercroft.format.CommitRecord;
import io.undercroft.format.DTypeRecord;
import io.undercroft.format.Header;
import io.undercroft.format.IndexBuilder;
import io.undercroft.format.Layout;
import io.undercroft.format.TensorRecord;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// Writes a state as a new `.croft` file.
///
/// Each storage is written once, however many tensors stand on it. Small storages come first, packed, and large ones after
/// them, so that only one gap is left for alignment; numbers keep the order of first use. The header is written last: its
/// id is made from the digest of everything else, so that the same state gives the same bytes.
public final class CroftWriter {
    private final AtomicFile file;
    private final StateIndex names;
    private final IndexBuilder index = new IndexBuilder(Layout.DEFAULT_CHUNK_LOG2);
    private final Numbering<Storage> storages;
    private final Numbering<Tensor> tensors;
    private long end = Layout.DATA_START;

    private CroftWriter(AtomicFile file, StateIndex names) {
        this.file = file;
        this.names = names;
        this.storages = new Numbering<>(names.storages());
        this.tensors = new Numbering<>(names.tensors().values());
    }

    /// Saves a state; see [io.undercroft.serializer.Checkpoint#save].
    ///
    /// @param path the file to make or replace
    /// @param state the root of the tree
    /// @param options what else to save
    /// @throws IOException if writing fails; nothing is left behind
    public static void save(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        StateIndex names = StateIndex.of(state);
        try (AtomicFile file = AtomicFile.create(path)) {
            new CroftWriter(file, names).write(state, options);
            file.commit();
        }
    }

    private void write(@Nullable Object state, SaveOptions options) throws IOException {
        // Before any bulk byte is written, so that a state which cannot be saved is refused at once.
        index.setTree(StateEncoder.encode(state, numbers()));
        options.metadata().forEach(index::putMetadata);
        addStorages();
        addTensors();
        writeIndex(MemorySegment.ofArray(index.build(1)));
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

    private void addStorages() throws IOException {
        List<Storage> inFileOrder = new ArrayList<>(storages.inOrder());
        inFileOrder.sort(Comparator.comparing(storage -> Layout.alignment(storage.nbytes())));
        Map<Storage, List<Extent>> extents = new HashMap<>();
        try (ExtentWriter writer = new ExtentWriter(file)) {
            for (Storage storage : inFileOrder) {
                extents.put(storage, writer.write(storage));
            }
            end = writer.position();
        }
        for (Storage storage : storages.inOrder()) {
            extents.getOrDefault(storage, List.of()).forEach(extent -> extent.addTo(index));
            index.addStorage(storage.device().toString());
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

    private void writeIndex(MemorySegment bytes) throws IOException {
        long offset = Layout.placeIndex(end);
        CommitRecord commit = CommitRecord.canonical(bytes, offset);
        file.write(offset, bytes);
        file.write(Layout.slotOffset(commit.sequence()), MemorySegment.ofArray(commit.encode()));
        file.write(0, MemorySegment.ofArray(Header.of(commit.uuid(), Layout.DEFAULT_CHUNK_LOG2).encode()));
    }
}
