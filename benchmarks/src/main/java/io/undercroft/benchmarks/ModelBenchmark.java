package io.undercroft.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/// A folder of safetensors files of 70 GB: names, and one tensor as `float[]`. The files are sparse, so they take next
/// to no space on the disk. JVMs have a heap of at most 64 MiB.
final class ModelBenchmark {
    private static final List<String> PARTS = List.of("open", "names", "one tensor as float[]");
    private static final List<String> MEMORY = List.of("bytes read", "address space mapped",
            "resident memory of the JVM", "heap used, with garbage");
    private static final String TENSOR = "model.norm.weight";
    private static final int LAYERS = 40;
    private static final int WARM_UP = 300;

    private final Bench bench;
    private final Path folder;
    private final List<Figure> figures = new ArrayList<>();

    ModelBenchmark(Bench bench) {
        this.bench = bench;
        this.folder = bench.file("model").toAbsolutePath();
    }

    List<Figure> run() throws IOException {
        List<String> made = bench.peers().ask("make_model", folder, LAYERS);
        figures.add(Figure.of("size of the folder", Double.parseDouble(made.getFirst()) / 1e9, "GB"));
        figures.add(Figure.count("tensors", Long.parseLong(made.getLast())));
        fresh();
        warm();
        return figures;
    }

    private void fresh() throws IOException {
        List<List<Double>> answers = new ArrayList<>();
        List<Double> wholes = new ArrayList<>();
        for (int round = 0; round < bench.rounds(); round++) {
            long start = System.nanoTime();
            try (TalkingProcess jvm = TalkingProcess.java(ModelPeer.class)) {
                answers.add(ask(jvm));
                wholes.add((System.nanoTime() - start) / 1e6);
            }
        }
        report("fresh JVM: ", answers);
        figures.add(Figure.of("fresh JVM: all of it, from the start of the process", new Samples(wholes), "ms"));
    }

    private void warm() throws IOException {
        List<List<Double>> answers = new ArrayList<>();
        List<Double> peers = new ArrayList<>();
        try (TalkingProcess jvm = TalkingProcess.java(ModelPeer.class)) {
            for (int round = 0; round < WARM_UP; round++) {
                ask(jvm);
            }
            for (int round = 0; round < bench.rounds(); round++) {
                answers.add(ask(jvm));
                peers.add(1e3 * Double.parseDouble(bench.peers().ask("safe_open_folder", folder, TENSOR).getFirst()));
            }
        }
        report("warm JVM: ", answers);
        figures.add(Figure.of("Python, safe_open of all files, names and the tensor", new Samples(peers), "ms"));
        figures.add(Figure.of("warm JVM, all of it, compared with Python", new Samples(peers).over(whole(answers)),
                "x"));
    }

    private List<Double> ask(TalkingProcess jvm) throws IOException {
        jvm.say(folder + " " + TENSOR);
        return Stream.of(jvm.answer().split(" ", -1)).map(Double::valueOf).toList();
    }

    private void report(String who, List<List<Double>> answers) {
        for (int part = 0; part < PARTS.size(); part++) {
            figures.add(Figure.of(who + PARTS.get(part), column(answers, part), "ms"));
        }
        for (int part = 0; part < MEMORY.size(); part++) {
            figures.add(Figure.of(who + MEMORY.get(part), column(answers, PARTS.size() + part), "MiB"));
        }
    }

    private static Samples whole(List<List<Double>> answers) {
        return new Samples(answers.stream().map(answer -> answer.get(0) + answer.get(1) + answer.get(2)).toList());
    }

    private static Samples column(List<List<Double>> answers, int index) {
        return new Samples(answers.stream().map(answer -> answer.get(index)).toList());
    }
}
