package io.undercroft.interop.numpy;

import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.NamedTensors;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// What `numpy.save` writes: one array. The state is the tensor itself, whose name is empty.
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
        Storage storage = options.request().isChosen("")
                ? storages.stored(header.length(), header.nbytes(), header.type().dtype(), header.type().order())
                : storages.blank(header.nbytes());
        return TreeContents.of(header.on(storage), Map.of(), List::of).withPlaces(storages::placeOf)
                .withUnverified(1, header.nbytes()).only(options);
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
        if (tensor == null) {
            throw new IllegalArgumentException("the state is not one tensor, and an npy file holds nothing else; "
                    + "write tensors by name as npz");
        }
        return ArrayDraft.of("", NamedTensors.withGrad(tensor, false));
    }
}
