package io.undercroft.interop.safetensors;

import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Setting;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Files of safetensors 0.8.
///
/// **Reading.** The state is a map of the tensors in the order of the header. The rules for headers are those of the
/// reference implementation, but that a name may not come twice, that nothing is before the first brace, that
/// tensors are described by objects and not by arrays, and that what is skipped may nest as deep and have as large
/// numbers as it likes. What has no dtype here (6-bit floats) is carried as an opaque one. There are no checksums, so
/// verifying compares copies of views only.
///
/// **Writing.** A map of tensors, or maps in maps, whose paths are the names then. The bytes are those that the
/// reference implementation writes for the same tensors and metadata. Strides are not kept but for views: a transposed
/// tensor is written row-major. Nothing is added to the metadata but [sharing][io.undercroft.interop.safetensors] and,
/// where there is metadata, `format=pt`, without which transformers before version 5 would refuse it.
///
/// **Sharing.** Tensors that have bytes in common share a storage again when they are read, if one of them is in
/// row-major order and covers the others. If none does, the state is refused, unless the setting `safetensors.sharing`
/// is `copy`: then each tensor is written for itself, those with several names too, and nothing is shared. Tensors on
/// one storage that have no byte in common, whether one behind the other or as columns of one matrix, get separate
/// storages, where that can be determined. To ignore metadata about sharing, a file is opened with
/// `safetensors.sharing` set to `ignore`.
public final class SafetensorsFormat implements CheckpointFormat {
    /// For the service loader.
    public SafetensorsFormat() {}

    @Override
    public String name() {
        return "safetensors";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return SafetensorsHeader.startsIn(file);
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        return SafetensorsContents.of(file, options);
    }

    @Override
    public Set<Capability> capabilities() {
        return Set.of(Capability.SAVE, Capability.SHARING, Capability.METADATA);
    }

    @Override
    public List<Setting> settings() {
        return List.of(Setting.ofOpening(SafetensorsContents.SHARING, "keep, ignore"),
                Setting.ofWriting(SafetensorsContents.SHARING, "keep, copy"));
    }

    @Override
    public Draft draft(@Nullable Object state, SaveOptions options) {
        return SafetensorsDraft.of(TensorsByName.of(state, name()), options);
    }
}
