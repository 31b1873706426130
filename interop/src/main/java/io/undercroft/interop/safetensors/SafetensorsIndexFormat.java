package io.undercroft.interop.safetensors;

import io.undercroft.interop.internal.IndexedShards;
import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.interop.internal.ShardIndex;
import io.undercroft.interop.internal.ShardSplit;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Setting;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.SequencedSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// The index of a model in several files of [SafetensorsFormat], usually called `model.safetensors.index.json`.
///
/// **Reading.** It is opened as one state with the tensors that the index names, in its order, and further names of
/// them: those in the metadata of the index, and in that of the files, unless `safetensors.sharing` is `ignore`. The
/// files are in the directory of the index or below it, and stay open until the contents are released. A symbolic link
/// to a file elsewhere is followed only to the directory where the index is stored itself, as in the cache of the
/// Hugging Face hub, or below [OpenOptions#root(java.nio.file.Path)].
///
/// **Writing.** The tensors go, in their order, into `model-00001-of-0000N.safetensors` and so on, cut where
/// `save_pretrained` of transformers cuts: when the next tensor would exceed the setting `safetensors.shard`, for
/// instance `5GB` or `512MiB`; by default 50GB. A larger tensor has a separate file. Tensors that share bytes are never
/// separated. The index maps what is stored, as transformers does: a tied tensor under the first of its names. The
/// further ones are in the metadata of its file, as for [SafetensorsFormat], and in that of the index, as
/// huggingface_hub writes them.
public final class SafetensorsIndexFormat implements CheckpointFormat {
    private static final IndexedShards SHARDS = new IndexedShards(List.of(".safetensors"),
            List.of(new SafetensorsFormat()));

    /// For the service loader.
    public SafetensorsIndexFormat() {}

    @Override
    public String name() {
        return "safetensors-index";
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
        ShardIndex index = ShardIndex.read(file);
        return SHARDS.open(SafetensorsContents.ignoresSharing(options)
                ? index
                : index.withAliases((key, value) -> isAlias(key, value, index)), file, options);
    }

    /// The total size is a number, even if a tensor has this name.
    private static boolean isAlias(String key, String value, ShardIndex index) {
        return !key.equals(ShardedDraft.TOTAL_SIZE) && SharingMetadata.isAlias(key, value, index.shards());
    }

    @Override
    public Set<Capability> capabilities() {
        return Set.of(Capability.SAVE, Capability.SHARING, Capability.METADATA, Capability.SEVERAL_FILES);
    }

    @Override
    public List<Setting> settings() {
        return List.of(Setting.ofOpening(SafetensorsContents.SHARING, "keep, ignore"),
                Setting.ofWriting(SafetensorsContents.SHARING, "keep, copy"),
                Setting.ofWriting(ShardedDraft.SETTING, ShardSplit.SIZES));
    }

    @Override
    public Optional<String> indexName() {
        return Optional.of("model" + ShardedDraft.SUFFIX);
    }

    @Override
    public Draft draft(@Nullable Object state, SaveOptions options) {
        return draft(state, options, indexName().orElseThrow());
    }

    @Override
    public Draft draft(@Nullable Object state, SaveOptions options, String fileName) {
        return ShardedDraft.of(TensorsByName.of(state, name()), options, fileName);
    }
}
