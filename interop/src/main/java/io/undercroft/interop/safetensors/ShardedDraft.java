package io.undercroft.interop.safetensors;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.JsonWriter;
import io.undercroft.interop.internal.ShardIndex;
import io.undercroft.interop.internal.ShardSplit;
import io.undercroft.interop.safetensors.SharingMetadata.View;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport.Loss;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;

/// An index to be written, and the files that it names.
final class ShardedDraft implements Draft {
    /// The setting for the size of files.
    static final String SETTING = "safetensors.shard";

    /// What names of indexes end in.
    static final String SUFFIX = ".safetensors.index.json";

    /// The key of the metadata for the total size of the tensors.
    static final String TOTAL_SIZE = "total_size";

    private final byte[] index;
    private final SequencedMap<String, Draft> shards;
    private final SequencedMap<String, Tensor> names;
    private final List<Loss> losses;

    private ShardedDraft(byte[] index, SequencedMap<String, Draft> shards, SequencedMap<String, Tensor> names,
            List<Loss> losses) {
        this.index = index;
        this.shards = shards;
        this.names = names;
        this.losses = losses;
    }

    /// Plans a set.
    ///
    /// @param tensors the tensors by name
    /// @param options the metadata, how large files may be, and whether sharing is kept
    /// @param fileName the name of the index
    /// @return the index to be, with its files
    /// @throws IllegalArgumentException if the format has no place for something
    static ShardedDraft of(SequencedMap<String, Tensor> tensors, SaveOptions options, String fileName) {
        if (tensors.isEmpty()) {
            throw new IllegalArgumentException(
                    "the state has no tensors that an index could name; write it as a .safetensors file");
        }
        SharingPlan plan = SafetensorsDraft.plan(tensors, options);
        Map<String, List<String>> groups = new LinkedHashMap<>();
        tensors.keySet().forEach(name -> groups.computeIfAbsent(baseOf(name, plan), _ -> new ArrayList<>()).add(name));
        List<List<String>> split = ShardSplit.of(groups.values(), group -> nbytes(group, plan),
                ShardSplit.limit(options, SETTING));
        SequencedMap<String, SequencedMap<String, Tensor>> files = files(stem(fileName), split, tensors);
        byte[] index = index(plan, files, options);
        if (index.length > ShardIndex.LARGEST) {
            throw new IllegalArgumentException("the index would have " + index.length + " bytes and not up to "
                    + ShardIndex.LARGEST + ". Save fewer tensors, or shorter names and metadata");
        }
        return new ShardedDraft(index, shards(files, options), tensors, plan.losses());
    }

    /// Returns the tensor whose bytes a tensor uses; these stay together.
    private static String baseOf(String name, SharingPlan plan) {
        String written = plan.aliases().getOrDefault(name, name);
        View view = plan.views().get(written);
        return view == null ? written : view.base();
    }

    private static long nbytes(List<String> group, SharingPlan plan) {
        return group.stream().filter(plan.written()::containsKey).map(plan.written()::get).mapToLong(Tensor::nbytes)
                .reduce(0, Math::addExact);
    }

    private static String stem(String fileName) {
        String stem = fileName.substring(0, Math.max(0, fileName.length() - SUFFIX.length()));
        if (!fileName.toLowerCase(Locale.ROOT).endsWith(SUFFIX) || !Draft.isPlainName(stem)) {
            throw new IllegalArgumentException(FormatException.quote(fileName) + ": an index is called NAME" + SUFFIX
                    + ", where NAME is plain and starts the names of its files");
        }
        return stem;
    }

    private static SequencedMap<String, SequencedMap<String, Tensor>> files(String stem, List<List<String>> split,
            SequencedMap<String, Tensor> tensors) {
        SequencedMap<String, SequencedMap<String, Tensor>> files = new LinkedHashMap<>();
        for (List<String> names : split) {
            SequencedMap<String, Tensor> file = new LinkedHashMap<>();
            names.forEach(name -> file.put(name, Objects.requireNonNull(tensors.get(name))));
            files.put(stem + String.format(Locale.ROOT, "-%05d-of-%05d.safetensors", files.size() + 1, split.size()),
                    file);
        }
        return files;
    }

    /// The total size of another set in the metadata is wrong for these files.
    private static SequencedMap<String, Draft> shards(SequencedMap<String, SequencedMap<String, Tensor>> files,
            SaveOptions options) {
        Map<String, String> text = new LinkedHashMap<>(options.metadata());
        text.remove(TOTAL_SIZE);
        SequencedMap<String, Draft> shards = new LinkedHashMap<>();
        files.forEach((name, tensors) -> shards.put(name, SafetensorsDraft.of(tensors, options.metadata(text))));
        return shards;
    }

    private static byte[] index(SharingPlan plan, SequencedMap<String, SequencedMap<String, Tensor>> files,
            SaveOptions options) {
        Map<String, String> fileOf = new HashMap<>();
        files.forEach((file, tensors) -> tensors.keySet().forEach(name -> fileOf.put(name, file)));
        SequencedMap<String, String> map = new LinkedHashMap<>();
        plan.written().keySet().forEach(name -> map.put(name, Objects.requireNonNull(fileOf.get(name))));
        long nbytes = plan.written().values().stream().mapToLong(Tensor::nbytes).reduce(0, Math::addExact);
        // The map is first: by the first shard in it an index is recognised.
        JsonWriter json = new JsonWriter(true).open().member(ShardIndex.MAP).open();
        map.forEach((name, file) -> json.member(name).string(file));
        json.close().member(ShardIndex.METADATA).open().member(TOTAL_SIZE).number(nbytes);
        metadata(plan, options).forEach((key, value) -> json.member(key).string(value));
        return (json.close().close() + "\n").getBytes(US_ASCII);
    }

    /// Returns the other metadata, with the names of shared tensors as huggingface_hub writes them.
    private static Map<String, String> metadata(SharingPlan plan, SaveOptions options) {
        Map<String, String> metadata = new LinkedHashMap<>(options.metadata());
        metadata.putAll(plan.aliases());
        metadata.remove(TOTAL_SIZE);
        return metadata;
    }

    @Override
    public long nbytes() {
        return index.length;
    }

    @Override
    public SequencedMap<String, Tensor> names() {
        return names;
    }

    @Override
    public List<Loss> losses() {
        return losses;
    }

    @Override
    public void writeTo(Output output) throws IOException {
        output.write(MemorySegment.ofArray(index));
    }

    @Override
    public SequencedMap<String, Draft> companions() {
        return shards;
    }
}
