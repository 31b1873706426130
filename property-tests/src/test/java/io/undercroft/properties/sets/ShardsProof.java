package io.undercroft.properties.sets;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.properties.Effort;
import io.undercroft.properties.RandomProof;
import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.FileRegion;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.ShardSet;
import io.undercroft.serializer.ShardSet.Request;
import io.undercroft.serializer.state.Slice;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;

/// Saves and opens sets of many shards, each with slices of a hundred tensors: what it takes in the files, how long it
/// takes to commit a set, to open it, and to plan and read the layout of one of as many readers.
///
/// Quickly, sets of a hundred and a thousand shards.
public final class ShardsProof {
    private static final int TENSORS = 100;
    private static final int COLUMNS = 4;

    private final Scratch scratch;
    private final List<Figure> figures = new ArrayList<>();

    private ShardsProof(Scratch scratch) {
        this.scratch = scratch;
    }

    public static Report run(Effort effort) throws IOException {
        return RandomProof.report("shards", (_, scratch) -> {
            ShardsProof proof = new ShardsProof(scratch);
            for (int shards : effort == Effort.FULL ? new int[]{1000, 10_000} : new int[]{100, 1000}) {
                proof.measure(shards);
                scratch.clear();
            }
            return proof.figures;
        });
    }

    private void measure(int count) throws IOException {
        String of = " of " + count + " shards";
        List<Path> shards = new ArrayList<>();
        Map<String, Object> state = new LinkedHashMap<>();
        SaveOptions saving = SaveOptions.defaults().run("job 7, step 1000", count);
        for (int shard = 0; shard < count; shard++) {
            for (int tensor = 0; tensor < TENSORS; tensor++) {
                state.put(name(tensor), Slice.of(Tensor.full(DType.FLOAT32, (long) shard, 1, COLUMNS),
                        Shape.of(count, COLUMNS), shard, 0));
            }
            shards.add(scratch.file(String.format(Locale.ROOT, "shard-%05d.croft", shard)));
            Checkpoint.save(shards.getLast(), state, saving);
        }
        Path manifest = scratch.file("all.croftset");
        ShardSet.create(manifest, shards);
        Files.delete(manifest);
        long start = System.nanoTime();
        ShardSet.create(manifest, shards);
        seconds("commit the set" + of, start);
        size("manifest", of, Files.size(manifest));
        figures.add(Figure.of("manifest for each shard" + of, (double) Files.size(manifest) / count, "B"));
        figures.add(Figure.of("manifest for each part" + of, (double) Files.size(manifest) / count / TENSORS, "B"));
        try (Checkpoint shard = Checkpoint.open(shards.getFirst())) {
            long index = shard.regions().stream().filter(region -> region.kind() == FileRegion.Kind.INDEX)
                    .mapToLong(FileRegion::nbytes).sum();
            figures.add(Figure.of("index of a shard for each slice" + of, (double) index / TENSORS, "B"));
        }
        open(manifest, "open the set", of);
        open(manifest, "open the set again", of);
        read(manifest, count, of);
    }

    private static String name(int tensor) {
        return "model.layers.%s.attention.weight".formatted(tensor);
    }

    private void open(Path manifest, String what, String of) throws IOException {
        long before = used();
        long start = System.nanoTime();
        try (ShardSet set = ShardSet.open(manifest)) {
            seconds(what + of, start);
            size("memory of the open set", of, Math.max(0, used() - before));
            start = System.nanoTime();
            set.names().forEach(set::parts);
            seconds("check the parts of all tensors" + of, start);
        }
    }

    /// A reader of two rows of each tensor, which are in two shards, and one of all rows of one tensor.
    private void read(Path manifest, int count, String of) throws IOException {
        try (ShardSet set = ShardSet.open(manifest)) {
            long start = System.nanoTime();
            List<Tensor> rows = set.tensors(IntStream.range(0, TENSORS)
                    .mapToObj(tensor -> new Request(name(tensor), new long[]{count / 2 - 1, 0}, Shape.of(2, COLUMNS),
                            Device.CPU))
                    .toList());
            seconds("plan and read 100 boxes of 2 shards" + of, start);
            start = System.nanoTime();
            Tensor all = set.tensor(name(7));
            seconds("plan and read a tensor of all shards" + of, start);
            long wrong = rows.stream().filter(row -> (int) row.getFloat(1, 0) != count / 2).count();
            for (int row = 0; row < count; row++) {
                wrong += (int) all.getFloat(row, COLUMNS - 1) == row ? 0 : 1;
            }
            figures.add(Figure.count("wrong elements" + of, wrong).atMost(0));
        }
    }

    private void seconds(String what, long start) {
        figures.add(Figure.of(what, (System.nanoTime() - start) / 1e9, "s"));
    }

    private void size(String what, String of, long nbytes) {
        figures.add(Figure.of(what + of, nbytes / 1e6, "MB"));
    }

    /// The collector is asked more than once, since it may still be tracing what became free.
    private static long used() {
        Runtime runtime = Runtime.getRuntime();
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
