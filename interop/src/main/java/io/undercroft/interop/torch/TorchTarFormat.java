package io.undercroft.interop.torch;

import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Setting;
import java.io.IOException;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Set;

/// What `torch.save` wrote before PyTorch 0.1.12: a tar archive of storages, tensors and a pickle. There are no
/// checksums of what it holds, so [Contents#verify] reports that nothing was verified.
public final class TorchTarFormat implements CheckpointFormat {
    private static final Set<String> MEMBERS = Set.of("sys_info", "pickle", "tensors", "storages");

    /// For the service loader.
    public TorchTarFormat() {}

    @Override
    public String name() {
        return "torch-tar";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return TarDirectory.firstName(file).filter(MEMBERS::contains).isPresent();
    }

    @Override
    public List<Setting> settings() {
        return List.of(TorchSettings.STRICT);
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        TarDirectory tar = TarDirectory.read(file);
        ByteOrderStorages elements = new ByteOrderStorages(file, options, ByteOrder.LITTLE_ENDIAN);
        return StorageFilter.read(options, (opening, filter) -> new TarSave(file, tar, opening, filter, elements)
                .read(MEMBERS));
    }
}
