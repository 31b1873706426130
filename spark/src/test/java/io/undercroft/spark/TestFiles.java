package io.undercroft.spark;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

/// Files that tests read.
final class TestFiles {
    private TestFiles() {}

    /// {@return a tensor of random float32 numbers}
    static Tensor random(long seed, int count) {
        Random random = new Random(seed);
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextGaussian();
        }
        return Tensor.of(values, count);
    }

    /// {@return a state with some tensors, two of which share a storage}
    static Map<String, Object> state(long seed) {
        Tensor weight = random(seed, 1 << 16).view(256, 256);
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("embed.weight", weight);
        state.put("head.weight", weight.transpose(0, 1));
        state.put("norm.bias", Tensor.of(1f, Float.NaN, -3f, 4f));
        state.put("steps", Tensor.full(DType.INT64, 7L, 2, 3));
        return state;
    }

    /// Writes a tree of files: a.pt, sub/b.safetensors, sub/c.croft with two snapshots, and what is no checkpoint.
    static Path tree(Path directory) throws IOException {
        Path sub = Files.createDirectories(directory.resolve("sub"));
        Checkpoint.save(directory.resolve("a.pt"), state(1));
        Map<String, Object> flat = new LinkedHashMap<>(state(2));
        flat.put("head.weight", ((Tensor) flat.get("head.weight")).contiguous());
        Checkpoint.save(sub.resolve("b.safetensors"), flat);
        try (CroftFile growing = CroftFile.open(sub.resolve("c.croft"))) {
            growing.commit(state(3), "first");
            growing.commit(state(4), "second");
        }
        Files.writeString(directory.resolve("config.json"), "{}");
        Files.writeString(sub.resolve("_temporary.pt"), "no checkpoint");
        return directory;
    }
}
