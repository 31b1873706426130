package io.undercroft.interop.torch;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/// Writes distributed checkpoints, also ones that PyTorch would never write.
final class DistributedBuilder {
    private static final String METADATA = "torch.distributed.checkpoint.metadata";

    private final Path folder;
    private final Map<String, ByteArrayOutputStream> shards = new LinkedHashMap<>();
    private final Map<String, Described> entries = new LinkedHashMap<>();
    private final Map<String, List<Object>> paths = new LinkedHashMap<>();
    private final List<Stored> stored = new ArrayList<>();
    /// What is added to the file of the last shard's ranges.
    private String transform = "";

    /// @param shape null for a value
    @SuppressWarnings("ArrayRecordComponent")
    private record Described(String dtype, long @Nullable [] shape, List<long[][]> chunks) {}

    @SuppressWarnings("ArrayRecordComponent")
    private record Stored(String name, long @Nullable [] offset, String file, long start, long length) {}

    DistributedBuilder(Path folder) {
        this.folder = folder;
    }

    /// Describes a tensor whose chunks are added by [#chunk].
    DistributedBuilder tensor(String name, String dtype, long... shape) {
        entries.put(name, new Described(dtype, shape, new ArrayList<>()));
        return this;
    }

    /// Adds a chunk to the index and to a shard.
    DistributedBuilder chunk(String name, String shard, Tensor chunk, long... offset) throws IOException {
        described(name, chunk.shape().toArray(), offset);
        return stored(name, shard, chunk, offset);
    }

    DistributedBuilder described(String name, long[] size, long... offset) {
        entries.get(name).chunks.add(new long[][]{offset, size});
        return this;
    }

    DistributedBuilder stored(String name, String shard, @Nullable Object value, long @Nullable... offset)
            throws IOException {
        Path file = folder.resolve("one");
        Checkpoint.save(file, value, SaveOptions.defaults().format("torch-zip"));
        byte[] bytes = Files.readAllBytes(file);
        Files.delete(file);
        ByteArrayOutputStream out = shards.computeIfAbsent(shard, _ -> new ByteArrayOutputStream());
        long start = out.size();
        out.writeBytes(bytes);
        return range(name, shard, start, bytes.length, offset);
    }

    DistributedBuilder range(String name, String shard, long start, long length, long @Nullable... offset) {
        stored.add(new Stored(name, offset, shard, start, length));
        return this;
    }

    DistributedBuilder value(String name, String shard, @Nullable Object value) throws IOException {
        entries.put(name, new Described("", null, List.of()));
        return stored(name, shard, value, (long[]) null);
    }

    DistributedBuilder path(String name, Object... keys) {
        paths.put(name, List.of(keys));
        return this;
    }

    DistributedBuilder transform(String by) {
        transform = by;
        return this;
    }

    /// {@return the shards, which may be changed}
    Map<String, ByteArrayOutputStream> shards() {
        return shards;
    }

    /// {@return the directory}
    Path write() throws IOException {
        for (Map.Entry<String, ByteArrayOutputStream> shard : shards.entrySet()) {
            Files.write(folder.resolve(shard.getKey()), shard.getValue().toByteArray());
        }
        Files.write(folder.resolve(".metadata"), pickle());
        return folder;
    }

    private byte[] pickle() {
        PickleBuilder out = new PickleBuilder();
        object(out, METADATA, "Metadata", fields -> {
            fields.text("state_dict_metadata").ops("}(");
            entries.forEach((name, entry) -> describe(fields.text(name), entry));
            fields.ops("u").text("planner_data");
            if (paths.isEmpty()) {
                fields.ops("N");
            } else {
                fields.ops("}(");
                paths.forEach((name, keys) -> {
                    fields.text(name).ops("(");
                    keys.forEach(key -> {
                        if (key instanceof Integer index) {
                            fields.integer(index);
                        } else {
                            fields.text((String) key);
                        }
                    });
                    fields.ops("t");
                });
                fields.ops("u");
            }
            fields.text("storage_data").ops("}(");
            stored.forEach(each -> store(fields, each));
            fields.ops("u").text("storage_meta").ops("N").text("version").text("1.0.0");
        });
        return out.stop();
    }

    private void store(PickleBuilder out, Stored stored) {
        object(out, METADATA, "MetadataIndex", key -> {
            key.text("fqn").text(stored.name).text("index").ops("N").text("offset");
            if (stored.offset == null) {
                key.ops("N");
            } else {
                size(key, stored.offset);
            }
        });
        object(out, "torch.distributed.checkpoint.filesystem", "_StorageInfo", info -> {
            info.text("relative_path").text(stored.file).text("offset").integer(stored.start).text("length")
                    .integer(stored.length);
            if (!transform.isEmpty()) {
                info.text("transform_descriptors").ops("(").text(transform).ops("l");
            }
        });
    }

    private static void describe(PickleBuilder out, Described entry) {
        long[] shape = entry.shape;
        if (shape == null) {
            out.global(METADATA, "BytesStorageMetadata").ops(")").bytes(0x81);
            return;
        }
        object(out, METADATA, "TensorStorageMetadata", tensor -> {
            tensor.text("properties").global(METADATA, "TensorProperties").ops(")").bytes(0x81).ops("(")
                    .global("torch", entry.dtype).global("torch.serialization", "_get_layout").text("torch.strided")
                    .bytes(0x85).ops("R").bytes(0x89).integer(0).bytes(0x89).ops("tb");
            size(tensor.text("size"), shape);
            tensor.text("chunks").ops("(");
            entry.chunks.forEach(chunk -> object(tensor, METADATA, "ChunkStorageMetadata", part -> {
                size(part.text("offsets"), chunk[0]);
                size(part.text("sizes"), chunk[1]);
            }));
            tensor.ops("l");
        });
    }

    private static void object(PickleBuilder out, String module, String name, Consumer<PickleBuilder> fields) {
        out.global(module, name).ops(")").bytes(0x81).ops("}(");
        fields.accept(out);
        out.ops("ub");
    }

    private static void size(PickleBuilder out, long[] sizes) {
        out.global("torch", "Size").ops("(");
        Arrays.stream(sizes).forEach(out::integer);
        out.ops("t").bytes(0x85).ops("R");
    }
}
