package io.undercroft.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/// A folder of safetensors files of 70 GB: names, and one tensor as `float[]`. The files are sparse, so they take next
/// to no space on the disk. JVMs have a heap of at most 64 MiB.
final class ModelBenchmark {
    /// What a JVM answers, in milliseconds, then in MiB.
    private static final List<String> PARTS = List.of("open", "names", "one tensor as float[]", "bytes read",
            "address space mapped", "resident memory of the JVM", "heap used, with garbage");
    private static final int TIMES = 3;
    private static final String WHOLE = "whole";
    private static final String TENSOR = "model.norm.weight";
    private static final int LAYERS = 40;
    private static final int WARM_UP = 300;

    private ModelBenchmark() {}

    static void run(Bench bench) throws IOException {
        Path folder = bench.file("model").toAbsolutePath();
        List<String> made = bench.python().ask("make_model", folder, LAYERS);
        bench.add(Figure.of("size of the folder", Double.parseDouble(made.getFirst()) / 1e9, "GB"));
        bench.add(Figure.count("tensors", Long.parseLong(made.getLast())));

        Notes fresh = new Notes();
        Notes processes = new Notes();
        for (int round = 0; round < bench.rounds(); round++) {
            long start = System.nanoTime();
            try (Peer jvm = Peer.jvm()) {
                ask(jvm, folder, fresh);
                processes.add(WHOLE, 1e3 * Contender.since(start));
            }
        }
        report("fresh JVM: ", fresh, bench);
        bench.add(Figure.of("fresh JVM: all of it, from the start of the process", processes.of(WHOLE), "ms"));

        Notes warm = new Notes();
        Notes python = new Notes();
        try (Peer jvm = Peer.jvm()) {
            for (int round = 0; round < WARM_UP; round++) {
                ask(jvm, folder, new Notes());
            }
            for (int round = 0; round < bench.rounds(); round++) {
                ask(jvm, folder, warm);
                python.add(WHOLE, 1e3 * bench.python().number("safe_open_folder", folder, TENSOR));
            }
        }
        report("warm JVM: ", warm, bench);
        bench.add(Figure.of("Python, safe_open of all files, names and the tensor", python.of(WHOLE), "ms"));
        bench.add(Figure.of("warm JVM, all of it, compared with Python", python.of(WHOLE).over(warm.of(WHOLE)), "x"));
    }

    /// Notes the parts of an answer, and the sum of its times.
    private static void ask(Peer jvm, Path folder, Notes notes) throws IOException {
        List<Double> answer = jvm.ask("model", folder, TENSOR).stream().map(Double::valueOf).toList();
        for (int part = 0; part < PARTS.size(); part++) {
            notes.add(PARTS.get(part), answer.get(part));
        }
        notes.add(WHOLE, answer.stream().limit(TIMES).mapToDouble(Double::doubleValue).sum());
    }

    private static void report(String who, Notes notes, Bench bench) {
        PARTS.forEach(part -> bench.add(Figure.of(who + part, notes.of(part),
                PARTS.indexOf(part) < TIMES ? "ms" : "MiB")));
    }
}
