package io.undercroft.interop.torch;

import io.undercroft.interop.internal.IndexedShards;
import io.undercroft.interop.internal.ShardIndex;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Setting;
import java.io.IOException;
import java.util.EnumSet;
import java.util.List;
import java.util.SequencedSet;
import java.util.Set;

/// The index of a model in several files of `torch.save`, usually called `pytorch_model.bin.index.json`: what
/// transformers wrote before safetensors. It is opened as one state with the tensors that the index names, in its
/// order, and further names of these tensors in the files; those of one file share storages as they do there. Of
/// parameters it has the tensors. Nothing else in the files is kept.
///
/// The files are in the directory of the index or below it, and stay open until the contents are released. A symbolic
/// link to a file elsewhere is followed only to the directory where the index is stored itself, as in the cache of the
/// Hugging Face hub, or below [OpenOptions#root(java.nio.file.Path)].
public final class TorchIndexFormat implements CheckpointFormat {
    private static final IndexedShards SHARDS = new IndexedShards(List.of(".bin", ".pt", ".pth"),
            List.of(new TorchZipFormat(), new TorchLegacyFormat(), new TorchTarFormat()));

    /// For the service loader.
    public TorchIndexFormat() {}

    @Override
    public String name() {
        return "torch-index";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return SHARDS.matches(file);
    }

    @Override
    public SequencedSet<String> companionNames(MappedFile file) throws IOException {
        return IndexedShards.names(file);
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        return SHARDS.open(ShardIndex.read(file), file, options);
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
