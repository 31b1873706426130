package io.undercroft.interop.numpy;

import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.NamedTensors;
import io.undercroft.interop.numpy.ArrayNodes.Allowance;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// What `numpy.save` writes: one array. The state is the tensor itself, whose name is empty, or the node of an array
/// of texts, dates or records.
///
/// Versions 1.0 to 3.0 are read. A file with more than the array is refused. A tensor in column-major order is written
/// so, any other one that is not contiguous row by row. There are no checksums, so verifying finds nothing.
public final class NpyFormat implements CheckpointFormat {
    /// For the service loader.
    public NpyFormat() {}

    @Override
    public String name() {
        return "npy";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return file.startsWith(NpyHeader.MAGIC);
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        NpyHeader header = NpyHeader.read(count -> ByteReader.bytes(file, 0, count), file.size(), 0);
        FileStorages storages = new FileStorages(file, options);
        ReadBudget budget = ReadBudget.of(file.size());
        return TreeContents.of(node(file, options, header, storages, budget), Map.of(), List::of, budget)
                .withPlaces(storages::placeOf).withUnverified(1, header.nbytes()).only(options);
    }

    private static Object node(MappedFile file, OpenOptions options, NpyHeader header, FileStorages storages,
            ReadBudget budget) throws IOException {
        try {
            return new ArrayNodes(header, new FileBytes(file, header.length(), storages), options.request(),
                    new Allowance(budget)).node("");
        } catch (ArithmeticException | IllegalArgumentException e) {
            throw NpyHeader.impossible(e, 0);
        }
    }

    /// The elements of an array that is a file.
    private record FileBytes(MappedFile file, long offset, FileStorages storages) implements ArrayBytes {
        private static final int PART = 1 << 18;

        @Override
        public Storage stored(int alignment) {
            return storages.stored(offset, file.size() - offset, alignment);
        }

        @Override
        public void forEachPart(Part part) throws IOException {
            long nbytes = file.size() - offset;
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment buffer = arena.allocate(Math.min(PART, nbytes));
                for (long done = 0; done < nbytes;) {
                    MemorySegment piece = buffer.asSlice(0, Math.min(PART, nbytes - done));
                    file.read(offset + done, piece);
                    part.accept(done, piece);
                    done += piece.byteSize();
                }
            }
        }
    }

    @Override
    public Set<Capability> capabilities() {
        return Set.of(Capability.SAVE);
    }

    @Override
    public List<String> suffixes() {
        return List.of(".npy");
    }

    @Override
    public Draft draft(@Nullable Object state, SaveOptions options) {
        Tensor tensor = NamedTensors.tensorIn(state);
        if (tensor != null) {
            return ArrayDraft.of("", NamedTensors.withGrad(tensor, false));
        }
        if (state == null || !ArrayDraft.isArray(state)) {
            throw new IllegalArgumentException("the state is not one tensor, nor an array of NumPy, and an npy file "
                    + "holds nothing else; write tensors by name as npz");
        }
        return ArrayDraft.of("", state);
    }
}
