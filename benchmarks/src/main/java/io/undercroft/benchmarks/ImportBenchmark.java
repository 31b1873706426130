package io.undercroft.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// Files of the peers, opened by us and by themselves: from nothing to one element of one tensor. Files are in the page
/// cache.
final class ImportBenchmark {
    private static final String PT = "undercroft .pt";
    private static final String SAFETENSORS = "undercroft .safetensors";
    private static final String TORCH_MMAP = "torch.load(mmap=True)";
    private static final String SAFE_OPEN = "safe_open, one tensor";
    private static final double TARGET_BESIDE_TORCH = 10;

    private final Bench bench;

    ImportBenchmark(Bench bench) {
        this.bench = bench;
    }

    List<Figure> run() throws IOException {
        List<Figure> figures = new ArrayList<>();
        Workload many = Workload.many(bench.effort());
        Timings timings = measure(many);
        figures.addAll(report(many, timings));
        figures.add(compared(many, timings, PT, TORCH_MMAP).with(Goal.atLeast(TARGET_BESIDE_TORCH)));
        figures.add(compared(many, timings, SAFETENSORS, SAFE_OPEN).with(Goal.atLeast(1)));
        Workload large = Workload.large(bench.effort());
        timings = measure(large);
        figures.addAll(report(large, timings));
        figures.add(compared(large, timings, PT, TORCH_MMAP));
        figures.add(compared(large, timings, SAFETENSORS, SAFE_OPEN));
        return figures;
    }

    private Timings measure(Workload workload) throws IOException {
        Path pt = bench.file("model.pt");
        Path safetensors = bench.file("model.safetensors");
        bench.prepare(workload);
        Peers peers = bench.peers();
        peers.ask("forget");
        String tensor = workload.someName();
        Timings timings = new Rounds(bench.warmUp(), bench.rounds()).time(List.of(
                Contender.opening(PT, pt, tensor), peers.contender(TORCH_MMAP, "torch_load_mmap", pt, tensor),
                Contender.opening(SAFETENSORS, safetensors, tensor),
                peers.contender(SAFE_OPEN, "safetensors_safe_open", safetensors, tensor)));
        peers.ask("settle", pt, safetensors);
        return timings;
    }

    private static List<Figure> report(Workload workload, Timings timings) {
        return timings.contenders().stream().map(contender -> Figure.of(workload.what() + ": " + contender,
                timings.of(contender).map(s -> s * 1e3), "ms")).toList();
    }

    private static Figure compared(Workload workload, Timings timings, String ours, String peer) {
        return Figure.of(workload.what() + ": " + ours + " compared with " + peer, timings.speedup(ours, peer), "x");
    }
}
