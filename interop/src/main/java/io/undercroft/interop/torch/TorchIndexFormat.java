package io.undercroft.interop.torch;

import io.undercroft.interop.internal.IndexFormat;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.Setting;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/// The index of a model in several files of `torch.save`, usually called `pytorch_model.bin.index.json`: what
/// transformers wrote before safetensors. It is opened as one state with the tensors that the index names, in its
/// order, and further names of these tensors in the files; those of one file share storages as they do there. Of
/// parameters it has the tensors. Nothing else in the files is kept.
///
/// The files are those next to the index, and stay open until the contents are released. A symbolic link to a file
/// elsewhere is followed only to the directory where the index is stored itself, as in the cache of the Hugging Face
/// hub, or below [OpenOptions#root(java.nio.file.Path)].
public final class TorchIndexFormat extends IndexFormat {
    /// For the service loader.
    public TorchIndexFormat() {
        super(List.of(".bin", ".pt", ".pth"),
                List.of(new TorchZipFormat(), new TorchLegacyFormat(), new TorchTarFormat()));
    }

    @Override
    public String name() {
        return "torch-index";
    }

    @Override
    public Set<Capability> capabilities() {
        return EnumSet.of(Capability.SHARING, Capability.METADATA, Capability.SEVERAL_FILES);
    }

    @Override
    public List<Setting> settings() {
        return List.of(TorchSettings.STRICT);
    }
}
