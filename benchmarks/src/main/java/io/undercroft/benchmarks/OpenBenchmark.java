package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/// From nothing to one element of one tensor: open a file, find a tensor by name, read a number. Files are in the page
/// cache, where the open itself is what takes time.
final class OpenBenchmark {
    private static final String CROFT = "undercroft .croft";
    private static final String PT = "undercroft .pt";
    private static final String TORCH_MMAP = "torch.load(mmap=True)";
    private static final String SAFE_OPEN = "safe_open, one tensor";
    private static final String LOAD_FILE = "safetensors load_file";
    private static final double TARGET_BESIDE_TORCH = 20;
    private static final double TARGET_MANY_MILLIS = 0.5;
    private static final double TARGET_HUGE_MILLIS = 5;

    private final Bench bench;
    private final List<Figure> figures = new ArrayList<>();

    OpenBenchmark(Bench bench) {
        this.bench = bench;
    }

    List<Figure> run() throws IOException {
        measure(Workload.large(bench.effort()), UnaryOperator.identity());
        measure(Workload.many(bench.effort()), figure -> figure.with(Goal.atMost(TARGET_MANY_MILLIS)));
        measureAlone(Workload.huge(bench.effort()));
        return figures;
    }

    /// Without peers, which would need minutes to make the file.
    private void measureAlone(Workload workload) throws IOException {
        Path croft = bench.file("huge.croft");
        Checkpoint.save(croft, tensors(workload));
        Timings timings = new Rounds(bench.warmUp(), bench.rounds())
                .time(List.of(Contender.opening(CROFT, croft, workload.someName())));
        figures.add(Figure.of(workload.what() + ": " + CROFT, milliseconds(timings, CROFT), "ms")
                .with(Goal.atMost(TARGET_HUGE_MILLIS)));
    }

    /// A storage for each tensor.
    private static Map<String, Tensor> tensors(Workload workload) {
        float[] elements = new float[workload.rows() * workload.columns()];
        Map<String, Tensor> tensors = LinkedHashMap.newLinkedHashMap(workload.count());
        for (int number = 0; number < workload.count(); number++) {
            Arrays.fill(elements, number);
            tensors.put(workload.name(number), Tensor.of(elements).view(workload.rows(), workload.columns()));
        }
        return tensors;
    }

    private void measure(Workload workload, UnaryOperator<Figure> goal) throws IOException {
        Path pt = bench.file("model.pt");
        Path croft = bench.file("model.croft");
        Path safetensors = bench.file("model.safetensors");
        bench.prepare(workload);
        bench.peers().ask("forget");
        try (Checkpoint made = Checkpoint.open(pt)) {
            Checkpoint.save(croft, made.state());
        }
        String tensor = workload.someName();
        Timings timings = new Rounds(bench.warmUp(), bench.rounds())
                .time(List.of(Contender.opening(CROFT, croft, tensor), Contender.opening(PT, pt, tensor),
                        bench.peers().contender(TORCH_MMAP, "torch_load_mmap", pt, tensor),
                        bench.peers().contender("torch.load", "torch_load", pt, tensor),
                        bench.peers().contender(SAFE_OPEN, "safetensors_safe_open", safetensors, tensor),
                        bench.peers().contender(LOAD_FILE, "safetensors_load_file", safetensors, tensor)));
        bench.peers().ask("settle", pt, croft, safetensors);
        report(workload, timings, goal);
    }

    private void report(Workload workload, Timings timings, UnaryOperator<Figure> goal) {
        for (String contender : timings.contenders()) {
            Figure figure = Figure.of(workload.what() + ": " + contender, milliseconds(timings, contender), "ms");
            figures.add(contender.equals(CROFT) ? goal.apply(figure) : figure);
        }
        figures.add(compared(workload, timings, CROFT, TORCH_MMAP).with(Goal.atLeast(TARGET_BESIDE_TORCH)));
        figures.add(compared(workload, timings, CROFT, LOAD_FILE).with(Goal.atLeast(1)));
        figures.add(compared(workload, timings, CROFT, SAFE_OPEN));
        figures.add(compared(workload, timings, PT, TORCH_MMAP));
    }

    private static Samples milliseconds(Timings timings, String contender) {
        return timings.of(contender).map(s -> s * 1e3);
    }

    private static Figure compared(Workload workload, Timings timings, String ours, String peer) {
        return Figure.of(workload.what() + ": " + ours + " compared with " + peer, timings.speedup(ours, peer), "x");
    }
}
