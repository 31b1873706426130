package io.undercroft.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// A folder of safetensors files of 70 GB: names, and one tensor as `float[]`. The files are sparse, so they take next
/// to no space on the disk. JVMs have a heap of at most 64 MiB.
final class ModelBenchmark {
    /// What a JVM answers, in milliseconds, then in MiB.
    private static final List<String> PARTS = List.of("open", "names", "one tensor as float[]");
    private static final List<String> MEMORY = List.of("bytes read", "address space mapped",
            "resident memory of the JVM", "heap used, with garbage");
    private static final String TENSOR = "model.norm.weight";
    private static final int LAYERS = 40;
    private static final int WARM_UP = 300;

    private final Bench bench;
    private final Path folder;

    private ModelBenchmark(Bench bench) {
        this.bench = bench;
        this.folder = bench.file("model").toAbsolutePath();
    }

    static void run(Bench bench) throws IOException {
        ModelBenchmark benchmark = new ModelBenchmark(bench);
        List<String> made = bench.python().ask("make_model", benchmark.folder, LAYERS);
        bench.add(Figure.of("size of the folder", Double.parseDouble(made.getFirst()) / 1e9, "GB"));
        bench.add(Figure.count("tensors", Long.parseLong(made.getLast())));
        benchmark.fresh();
        benchmark.warm();
    }

    private void fresh() throws IOException {
        List<List<Double>> answers = new ArrayList<>();
        List<Double> wholes = new ArrayList<>();
        for (int round = 0; round < bench.rounds(); round++) {
            long start = System.nanoTime();
            try (Peer jvm = Peer.jvm()) {
                answers.add(ask(jvm));
                wholes.add((System.nanoTime() - start) / 1e6);
            }
        }
        report("fresh JVM: ", answers);
        bench.add(Figure.of("fresh JVM: all of it, from the start of the process", new Samples(wholes), "ms"));
    }

    private void warm() throws IOException {
        List<List<Double>> answers = new ArrayList<>();
        List<Double> peers = new ArrayList<>();
        try (Peer jvm = Peer.jvm()) {
            for (int round = 0; round < WARM_UP; round++) {
                ask(jvm);
            }
            for (int round = 0; round < bench.rounds(); round++) {
                answers.add(ask(jvm));
                peers.add(1e3 * bench.python().number("safe_open_folder", folder, TENSOR));
            }
        }
        report("warm JVM: ", answers);
        Samples whole = new Samples(answers.stream().map(answer -> answer.get(0) + answer.get(1) + answer.get(2))
                .toList());
        bench.add(Figure.of("Python, safe_open of all files, names and the tensor", new Samples(peers), "ms"));
        bench.add(Figure.of("warm JVM, all of it, compared with Python", new Samples(peers).over(whole), "x"));
    }

    private List<Double> ask(Peer jvm) throws IOException {
        return jvm.ask("model", folder, TENSOR).stream().map(Double::valueOf).toList();
    }

    private void report(String who, List<List<Double>> answers) {
        for (int part = 0; part < PARTS.size() + MEMORY.size(); part++) {
            int column = part;
            boolean isTime = part < PARTS.size();
            bench.add(Figure.of(who + (isTime ? PARTS.get(part) : MEMORY.get(part - PARTS.size())),
                    new Samples(answers.stream().map(answer -> answer.get(column)).toList()), isTime ? "ms" : "MiB"));
        }
    }
}
