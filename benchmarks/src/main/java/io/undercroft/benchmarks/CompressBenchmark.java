package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveOptions.Compression;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/// Compressed files: how much smaller they are, for random weights whose fine-tunes are random changes and for small
/// transformers that were trained, and how fast they are written and read. Besides them what gzip, zstd, and zstd over
/// bytes in planes make of the same files.
final class CompressBenchmark {
    /// The standard deviations of the changes of random weights, and the shares of their size that they should take.
    private static final Map<String, Double> CHANGES = Map.of("1e-05", 0.13, "5e-05", 0.25, "0.0002", 0.35, "0.001",
            0.51);
    private static final double ALONE = 0.71;
    private static final double TOLERANCE = 1.05;
    private static final List<String> PEERS = List.of("gzip -6 over the whole file", "zstd -3 over the whole file",
            "zstd -3 over the bytes of each tensor in planes");
    private static final List<String> DTYPES = List.of("bfloat16", "float16", "float32");
    private static final int WARM_UP = 2;
    private static final int OPENED = 50;

    private final Bench bench;
    private final SaveOptions alone = SaveOptions.defaults().compress(Compression.ALONE);

    private CompressBenchmark(Bench bench) {
        this.bench = bench;
    }

    static void run(Bench bench) throws IOException {
        CompressBenchmark benchmark = new CompressBenchmark(bench);
        benchmark.measureRandom();
        benchmark.measureRates();
        benchmark.measureTrained();
        benchmark.measureHistory();
    }

    private void measureRandom() throws IOException {
        Path base = bench.file("random.safetensors");
        bench.python().ask("random_weights", base, bench.choose(64, 8) << 20, 0, "bfloat16");
        Path plain = saved(base, "random.croft", SaveOptions.defaults());
        addShare("random weights of bfloat16, alone", saved(base, "alone.croft", alone), plain, TOLERANCE * ALONE);
        addPeers("random weights of bfloat16, alone: ", List.of(base), Files.size(plain));
        SaveOptions against = alone.compress(Compression.AGAINST_BASE).base(plain);
        for (Map.Entry<String, Double> change : new TreeMap<>(CHANGES).entrySet()) {
            Path tuned = bench.file("tuned.safetensors");
            bench.python().ask("random_weights", tuned, bench.choose(64, 8) << 20, change.getKey(), "bfloat16");
            addShare("changes of " + change.getKey() + " against the base", saved(tuned, "tuned.croft", against), plain,
                    TOLERANCE * change.getValue());
        }
    }

    private void measureRates() throws IOException {
        Path source = bench.file("large.safetensors");
        long nbytes = (long) bench.choose(1024, 128) << 20;
        bench.python().ask("random_weights", source, nbytes, 0, "bfloat16");
        Path plain = saved(source, "large.croft", SaveOptions.defaults());
        Path coded = bench.file("large-coded.croft");
        Notes notes = new Notes();
        for (int round = 0; round < WARM_UP + bench.rounds(); round++) {
            try (Checkpoint checkpoint = Checkpoint.open(plain)) {
                long start = System.nanoTime();
                Checkpoint.save(coded, checkpoint.tree(), alone);
                notes.add("coding", nbytes / 1e6 / Contender.since(start));
            }
            // The save has written past the page cache.
            notes.add("from the disk", nbytes / 1e6 / timeLoad(coded));
            notes.add("decoding", nbytes / 1e6 / timeLoad(coded));
            notes.add("loading", nbytes / 1e6 / timeLoad(plain));
            notes.add("open", compareOpen(coded, plain));
            notes.add("row", 1e3 * timeRows(coded));
        }
        int counted = bench.rounds();
        bench.add(Figure.count("bytes of the tensor", nbytes));
        bench.add(Figure.of("coding, durable", notes.last("coding", counted), "MB/s").atLeast(400));
        bench.add(Figure.of("opening and decoding into memory", notes.last("decoding", counted), "MB/s").atLeast(1200));
        bench.add(Figure.of("the same from the disk", notes.last("from the disk", counted), "MB/s"));
        bench.add(Figure.of("opening and loading plain bytes into memory", notes.last("loading", counted), "MB/s"));
        bench.add(Figure.of("one row of a file that was just opened", notes.last("row", counted), "ms").atMost(5));
        bench.add(Figure.of("opening, compared with a plain file", notes.last("open", counted), "x").atMost(1.1));
    }

    private static double timeLoad(Path path) throws IOException {
        long start = System.nanoTime();
        try (Checkpoint checkpoint = Checkpoint.open(path, OpenOptions.defaults().inMemory())) {
            checkpoint.storages().forEach(Storage::materialize);
            return Contender.since(start);
        }
    }

    private static double compareOpen(Path path, Path other) throws IOException {
        double seconds = 0;
        double others = 0;
        for (int i = 0; i < OPENED; i++) {
            seconds += timeOpen(path);
            others += timeOpen(other);
        }
        return seconds / others;
    }

    private static double timeOpen(Path path) throws IOException {
        long start = System.nanoTime();
        Checkpoint.open(path).close();
        return Contender.since(start);
    }

    /// Returns the time of a row, each of which is read from a file that was just opened.
    private static double timeRows(Path path) throws IOException {
        double seconds = 0;
        for (int i = 0; i < OPENED; i++) {
            try (Checkpoint checkpoint = Checkpoint.open(path)) {
                long row = 1000L + 97L * i;
                long start = System.nanoTime();
                Tensor read = checkpoint.rows("weight", row, row + 1);
                seconds += Contender.since(start);
                read.storage().release();
            }
        }
        return seconds / OPENED;
    }

    /// A transformer that was trained, and ten that were trained further with all of their weights.
    private void measureTrained() throws IOException {
        for (String dtype : DTYPES) {
            int count = bench.choose(10, 3);
            Path base = bench.file("base.safetensors");
            bench.python().ask("trained", base, dtype, bench.choose(600, 60));
            Path plain = saved(base, "base.croft", SaveOptions.defaults());
            SaveOptions against = alone.compress(Compression.AGAINST_BASE).base(plain);
            long stored = Files.size(plain);
            long all = stored;
            List<Path> files = new ArrayList<>(List.of(base));
            for (int number = 0; number < count; number++) {
                Path tuned = bench.file("tuned-" + number + ".safetensors");
                bench.python().ask("fine_tuned", tuned, dtype, number, bench.choose(60, 10));
                files.add(tuned);
                all += Files.size(saved(tuned, "plain.croft", SaveOptions.defaults()));
                stored += Files.size(saved(tuned, "tuned.croft", against));
            }
            String what = "a transformer of " + dtype + " and " + count + " full fine-tunes of it";
            Figure share = Figure.of(what, (double) stored / all, "of plain files");
            bench.add(dtype.equals("bfloat16") ? share.atMost(0.45) : share);
            addPeers(what + ": ", files, all);
        }
    }

    /// Snapshots of a training, with the moments of AdamW, as they are and rounded.
    private void measureHistory() throws IOException {
        int count = bench.choose(20, 5);
        for (String dtype : DTYPES) {
            Files.deleteIfExists(bench.file(dtype + ".croft"));
        }
        for (int number = 0; number < count; number++) {
            bench.python().ask("training_steps", bench.choose(30, 10));
            for (String dtype : DTYPES) {
                Path step = bench.file("step.safetensors");
                bench.python().ask("save_training", step, dtype);
                try (Checkpoint checkpoint = Checkpoint.open(step); CroftFile file = history(dtype)) {
                    file.commit(checkpoint.tree(), SaveOptions.defaults());
                }
            }
        }
        for (String dtype : DTYPES) {
            try (CroftFile file = history(dtype)) {
                long plain = Files.size(file.path());
                file.compact(_ -> true);
                bench.add(Figure.of(count + " snapshots of a training with AdamW in " + dtype
                        + ", older ones against the newest", (double) Files.size(file.path()) / plain,
                        "of a plain file").atMost(0.6));
            }
        }
    }

    private CroftFile history(String dtype) throws IOException {
        return CroftFile.open(bench.file(dtype + ".croft"), SaveOptions.defaults().compress(Compression.AGAINST_BASE),
                OpenOptions.defaults());
    }

    private Path saved(Path source, String name, SaveOptions options) throws IOException {
        Path path = bench.file(name);
        try (Checkpoint checkpoint = Checkpoint.open(source)) {
            Checkpoint.save(path, checkpoint.tree(), options);
        }
        return path;
    }

    private void addShare(String what, Path path, Path plain, double most) throws IOException {
        bench.add(Figure.of(what, (double) Files.size(path) / Files.size(plain), "of a plain file").atMost(most));
    }

    private void addPeers(String what, List<Path> files, long plain) throws IOException {
        double[] sums = new double[PEERS.size()];
        for (Path file : files) {
            List<String> sizes = bench.python().ask("compressed_sizes", file);
            for (int i = 0; i < sums.length; i++) {
                sums[i] += Double.parseDouble(sizes.get(i));
            }
        }
        for (int i = 0; i < sums.length; i++) {
            bench.add(Figure.of(what + PEERS.get(i), sums[i] / plain, "of plain files"));
        }
    }
}
