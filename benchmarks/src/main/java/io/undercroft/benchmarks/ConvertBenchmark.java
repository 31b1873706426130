package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ChecksumPolicy;
import io.undercroft.serializer.OpenOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// Files of one format made of files of another, durably, compared with a save of the same tensors from memory. What is
/// read is in the page cache. Before and after each run the disk is left to finish what it has to write.
final class ConvertBenchmark {
    private static final String UNCHECKED = ", checksums not compared";
    private static final OpenOptions NONE = OpenOptions.defaults().checksums(ChecksumPolicy.NONE);
    private static final String SAVE = "undercroft, saved from memory";
    private static final String FROM_PT = ".pt to .croft";
    private static final String FROM_SAFETENSORS = ".safetensors to .croft";
    private static final double TARGET_BESIDE_SAVE = 0.8;
    private static final double MOST_MEMORY = 128;

    private final Bench bench;

    ConvertBenchmark(Bench bench) {
        this.bench = bench;
    }

    List<Figure> run() throws IOException {
        Workload workload = Workload.large(bench.effort());
        Path pt = bench.file("model.pt");
        Path safetensors = bench.file("model.safetensors");
        Path croft = bench.file("model.croft");
        bench.prepare(workload);
        bench.peers().ask("forget");
        Map<String, Object> state = new LinkedHashMap<>();
        try (Checkpoint checkpoint = Checkpoint.open(pt)) {
            checkpoint.names().forEach(name -> state.put(name, checkpoint.tensor(name).copy()));
            Checkpoint.save(croft, checkpoint.tree());
        }
        Timings timings = new Rounds(bench.warmUp(), bench.rounds()).time(List.of(
                bench.writing(SAVE, bench.file("made.croft"), path -> Checkpoint.save(path, state)),
                bench.writing(FROM_PT, bench.file("made.croft"), path -> convert(pt, path)),
                bench.writing(FROM_PT + UNCHECKED, bench.file("made.croft"), path -> convert(pt, path, NONE)),
                bench.writing(".croft to .croft", bench.file("made.croft"), path -> convert(croft, path)),
                bench.writing(".croft to .croft" + UNCHECKED, bench.file("made.croft"),
                        path -> convert(croft, path, NONE)),
                bench.writing(FROM_SAFETENSORS, bench.file("made.croft"), path -> convert(safetensors, path)),
                bench.writing(".croft to .pt", bench.file("made.pt"), path -> export(croft, path)),
                bench.writing(".croft to .safetensors", bench.file("made.safetensors"), path -> export(croft, path)),
                bench.writing(".croft to .safetensors" + UNCHECKED, bench.file("made.safetensors"),
                        path -> export(croft, path, NONE))));
        List<Figure> figures = report(workload, timings);
        figures.add(memory(FROM_PT, bench.file("made.croft"), path -> convert(pt, path)));
        figures.add(memory(".croft to .pt", bench.file("made.pt"), path -> export(croft, path)));
        bench.peers().ask("settle", pt, safetensors, croft);
        return figures;
    }

    private static List<Figure> report(Workload workload, Timings timings) {
        List<Figure> figures = new ArrayList<>();
        for (String contender : timings.contenders()) {
            figures.add(timings.rate(workload, contender));
        }
        for (String contender : timings.contenders()) {
            if (!contender.equals(SAVE)) {
                Figure ratio = Figure.of(contender + " compared with " + SAVE, timings.speedup(contender, SAVE), "x");
                figures.add(contender.equals(FROM_PT) ? ratio.with(Goal.atLeast(TARGET_BESIDE_SAVE)) : ratio);
            }
        }
        return figures;
    }

    private static void convert(Path from, Path to) throws IOException {
        convert(from, to, OpenOptions.defaults());
    }

    private static void convert(Path from, Path to, OpenOptions options) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(from, options)) {
            Checkpoint.save(to, checkpoint.tree());
        }
    }

    private static void export(Path from, Path to) throws IOException {
        export(from, to, OpenOptions.defaults());
    }

    private static void export(Path from, Path to, OpenOptions options) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(from, options)) {
            Checkpoint.save(to, checkpoint.tree());
        }
    }

    /// The peak of the private memory of the process, less that before; pages of the files it maps do not
    /// count.
    private Figure memory(String what, Path path, Bench.Writing making) throws IOException {
        List<Double> mebibytes = new ArrayList<>();
        for (int round = 0; round < bench.rounds(); round++) {
            System.gc();
            mebibytes.add(PeakMemory.anonymousDuring(() -> making.to(path)) / 0x1p20);
        }
        return Figure.of("memory that " + what + " takes, at the peak", new Samples(mebibytes), "MiB")
                .with(Goal.atMost(MOST_MEMORY));
    }
}
