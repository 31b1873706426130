package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// From nothing to one element of one tensor: open a file, find a tensor by name, read a number. Files are in the page
/// cache, where the open itself is what takes time.
final class OpenBenchmark {
    private static final String CROFT = "undercroft .croft";
    private static final String PT = "undercroft .pt";
    private static final String SAFETENSORS = "undercroft .safetensors";
    private static final String TORCH_MMAP = "torch.load(mmap=True)";
    private static final String SAFE_OPEN = "safe_open, one tensor";
    private static final String LOAD_FILE = "safetensors load_file";

    private final Bench bench;
    private final Peer python;
    private final Path pt;
    private final Path safetensors;
    private final Path croft;

    private OpenBenchmark(Bench bench) {
        this.bench = bench;
        this.python = bench.python();
        this.pt = bench.file("model.pt");
        this.safetensors = bench.file("model.safetensors");
        this.croft = bench.file("model.croft");
    }

    /// Our files, compared with those of the peers.
    static void open(Bench bench) throws IOException {
        OpenBenchmark benchmark = new OpenBenchmark(bench);
        benchmark.open(Workload.large(bench), Double.NaN);
        benchmark.open(Workload.many(bench), 0.5);
        benchmark.openAlone(bench.choose(new Workload("1 000 000 tiny tensors", 1_000_000, 2, 4),
                new Workload("100 000 tiny tensors", 100_000, 2, 4)), 5);
    }

    /// Files of the peers, opened by us and by themselves.
    static void imports(Bench bench) throws IOException {
        OpenBenchmark benchmark = new OpenBenchmark(bench);
        benchmark.imports(Workload.many(bench), true);
        benchmark.imports(Workload.large(bench), false);
    }

    private void open(Workload workload, double mostMillis) throws IOException {
        bench.prepare(workload);
        python.ask("forget");
        Bench.convert(pt, croft);
        String tensor = workload.someName();
        Timings timings = bench.time(List.of(Contender.opening(CROFT, croft, tensor),
                Contender.opening(PT, pt, tensor), python.contender(TORCH_MMAP, "torch_load_mmap", pt, tensor),
                python.contender("torch.load", "torch_load", pt, tensor),
                python.contender(SAFE_OPEN, "safetensors_safe_open", safetensors, tensor),
                python.contender(LOAD_FILE, "safetensors_load_file", safetensors, tensor)));
        python.ask("settle", pt, croft, safetensors);
        String what = workload.what() + ": ";
        for (String contender : timings.contenders()) {
            Figure figure = timings.millis(what, contender);
            boolean hasGoal = contender.equals(CROFT) && !Double.isNaN(mostMillis);
            bench.add(hasGoal ? figure.atMost(mostMillis) : figure);
        }
        bench.add(timings.compared(what, CROFT, TORCH_MMAP).atLeast(20));
        bench.add(timings.compared(what, CROFT, LOAD_FILE).atLeast(1));
        bench.add(timings.compared(what, CROFT, SAFE_OPEN));
        bench.add(timings.compared(what, PT, TORCH_MMAP));
    }

    /// Without peers, which would need minutes to make the file. There is a storage for each tensor.
    private void openAlone(Workload workload, double mostMillis) throws IOException {
        float[] elements = new float[workload.rows() * workload.columns()];
        Map<String, Tensor> tensors = LinkedHashMap.newLinkedHashMap(workload.count());
        for (int number = 0; number < workload.count(); number++) {
            Arrays.fill(elements, number);
            tensors.put(workload.name(number), Tensor.of(elements).view(workload.rows(), workload.columns()));
        }
        Checkpoint.save(croft, tensors);
        Timings timings = bench.time(List.of(Contender.opening(CROFT, croft, workload.someName())));
        bench.add(timings.millis(workload.what() + ": ", CROFT).atMost(mostMillis));
    }

    private void imports(Workload workload, boolean hasGoals) throws IOException {
        bench.prepare(workload);
        python.ask("forget");
        String tensor = workload.someName();
        Timings timings = bench.time(List.of(Contender.opening(PT, pt, tensor),
                python.contender(TORCH_MMAP, "torch_load_mmap", pt, tensor),
                Contender.opening(SAFETENSORS, safetensors, tensor),
                python.contender(SAFE_OPEN, "safetensors_safe_open", safetensors, tensor)));
        python.ask("settle", pt, safetensors);
        String what = workload.what() + ": ";
        timings.contenders().forEach(contender -> bench.add(timings.millis(what, contender)));
        Figure torch = timings.compared(what, PT, TORCH_MMAP);
        Figure safeOpen = timings.compared(what, SAFETENSORS, SAFE_OPEN);
        bench.add(hasGoals ? torch.atLeast(10) : torch);
        bench.add(hasGoals ? safeOpen.atLeast(1) : safeOpen);
    }
}
