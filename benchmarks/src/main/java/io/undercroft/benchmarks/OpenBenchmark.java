package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
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
    private static final String DISTRIBUTED = "undercroft distributed checkpoint";
    private static final String DISTRIBUTED_INTO = "undercroft distributed checkpoint, loadInto";
    private static final String DCP_TO_TORCH = "dcp_to_torch_save and torch.load(mmap=True)";
    private static final String DCP_LOAD = "dcp.load in one process";
    private static final String DCP_SAVE = "dcp.save in one process";
    private static final String ONNX = "undercroft ONNX";
    private static final String ONNX_LOAD = "onnx.load";
    private static final String LOAD_FILE = "safetensors load_file";

    /// The number of processes that save a checkpoint together.
    private static final int PROCESSES = 4;

    private final Bench bench;
    private final Workload workload;
    private final String what;
    private final Contender pt;
    private final Contender torchMmap;
    private final Contender safeOpen;

    private OpenBenchmark(Bench bench, Workload workload) {
        String tensor = workload.someName();
        this.bench = bench;
        this.workload = workload;
        this.what = workload.what() + ": ";
        this.pt = Contender.opening(PT, bench.pt(), tensor);
        this.torchMmap = bench.python().contender(TORCH_MMAP, "torch_load_mmap", bench.pt(), tensor);
        this.safeOpen = bench.python().contender(SAFE_OPEN, "safetensors_safe_open", bench.safetensors(), tensor);
    }

    /// Our files, compared with those of the peers.
    static void open(Bench bench) throws IOException {
        new OpenBenchmark(bench, Workload.large(bench)).open(Double.NaN);
        new OpenBenchmark(bench, Workload.many(bench)).open(0.5);
        new OpenBenchmark(bench, bench.choose(new Workload("1 000 000 tiny tensors", 1_000_000, 2, 4),
                new Workload("100 000 tiny tensors", 100_000, 2, 4))).openAlone();
    }

    /// Files of the peers, opened by us and by themselves.
    static void imports(Bench bench) throws IOException {
        new OpenBenchmark(bench, Workload.many(bench)).imports(true);
        new OpenBenchmark(bench, Workload.large(bench)).imports(false);
        for (int processes : List.of(1, PROCESSES)) {
            new OpenBenchmark(bench, Workload.large(bench)).importDistributed(processes);
        }
        new OpenBenchmark(bench, Workload.large(bench)).saveDistributed();
        new OpenBenchmark(bench, Workload.large(bench)).importOnnx();
    }

    private void open(double mostMillis) throws IOException {
        bench.prepareAll(workload);
        String tensor = workload.someName();
        Timings timings = bench.time(List.of(Contender.opening(CROFT, bench.croft(), tensor), pt, torchMmap,
                bench.python().contender("torch.load", "torch_load", bench.pt(), tensor), safeOpen,
                bench.python().contender(LOAD_FILE, "safetensors_load_file", bench.safetensors(), tensor)));
        bench.settleAll();
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
    private void openAlone() throws IOException {
        float[] elements = new float[workload.rows() * workload.columns()];
        Map<String, Tensor> tensors = LinkedHashMap.newLinkedHashMap(workload.count());
        for (int number = 0; number < workload.count(); number++) {
            Arrays.fill(elements, number);
            tensors.put(workload.name(number), Tensor.of(elements).view(workload.rows(), workload.columns()));
        }
        Checkpoint.save(bench.croft(), tensors);
        bench.add(bench.time(List.of(Contender.opening(CROFT, bench.croft(), workload.someName()))).millis(what, CROFT)
                .atMost(5));
    }

    private void imports(boolean hasGoals) throws IOException {
        bench.prepare(workload);
        bench.python().ask("forget");
        Timings timings = bench.time(List.of(pt, torchMmap,
                Contender.opening(SAFETENSORS, bench.safetensors(), workload.someName()), safeOpen));
        bench.settleAll();
        timings.contenders().forEach(contender -> bench.add(timings.millis(what, contender)));
        Figure torch = timings.compared(what, PT, TORCH_MMAP);
        Figure safetensors = timings.compared(what, SAFETENSORS, SAFE_OPEN);
        bench.add(hasGoals ? torch.atLeast(10) : torch);
        bench.add(hasGoals ? safetensors.atLeast(1) : safetensors);
    }

    /// A directory of `torch.distributed.checkpoint`. Python makes one file of it to read one tensor.
    ///
    /// @param processes how many saved it, each a part of each tensor
    private void importDistributed(int processes) throws IOException {
        Path directory = bench.file("distributed");
        Path converted = bench.file("distributed.pt");
        String made = workload.what() + ", saved by " + processes + ": ";
        bench.prepare(workload);
        bench.python().ask("write_distributed", directory, processes);
        Timings one = bench.time(List.of(Contender.opening(DISTRIBUTED, directory, workload.someName()),
                bench.python().contender(DCP_TO_TORCH, "dcp_to_torch", directory, converted, workload.someName())));
        String all = workload.what() + ", saved by " + processes + ", all in memory: ";
        Map<String, Tensor> state = Bench.copyToMemory(bench.safetensors());
        Timings loads = bench.time(List.of(
                Contender.loading(DISTRIBUTED, directory, () -> OpenOptions.defaults().inMemory())
                        .refreshed(workload.nbytes()),
                loadingInto(directory, state), bench.python().contender(DCP_LOAD, "dcp_load_all", directory)));
        Bench.release(state);
        bench.settleAll(converted, directory);
        one.contenders().forEach(contender -> bench.add(one.millis(made, contender)));
        bench.add(one.compared(made, DISTRIBUTED, DCP_TO_TORCH).atLeast(20));
        loads.contenders().forEach(contender -> bench.add(loads.millis(all, contender)));
        bench.add(loads.compared(all, DISTRIBUTED, DCP_LOAD));
        bench.add(loads.compared(all, DISTRIBUTED_INTO, DCP_LOAD).atLeast(1.5));
    }

    /// As `dcp.load` does it: into tensors that are there.
    private static Contender loadingInto(Path directory, Map<String, Tensor> state) {
        return new Contender(DISTRIBUTED_INTO, () -> {
            state.values().forEach(tensor -> tensor.fill(0));
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(directory)) {
                var _ = checkpoint.loadInto(state);
            }
            double seconds = Contender.since(start);
            return new Contender.Outcome(seconds, Contender.witness(state.values().stream()
                    .mapToLong(tensor -> Contender.sum(tensor.bytes(), Integer.BYTES)).sum()));
        });
    }

    /// A state in memory is saved to such a directory, by one process.
    private void saveDistributed() throws IOException {
        bench.prepare(workload);
        Map<String, Tensor> state = Bench.copyToMemory(bench.safetensors());
        SaveOptions options = SaveOptions.defaults().format("torch-dcp");
        Path directory = bench.file("saved");
        String saving = workload.what() + ", saving: ";
        Timings timings = bench.time(List.of(
                bench.writing(DISTRIBUTED, directory, workload.nbytes(),
                        path -> Checkpoint.save(Files.createDirectory(path), state, options)),
                bench.python().contender(DCP_SAVE, "dcp_save", directory, true),
                bench.python().contender(DCP_SAVE + ", files not forced", "dcp_save", directory, false)));
        Bench.release(state);
        bench.python().ask("forget");
        bench.settleAll(directory);
        timings.contenders().forEach(contender -> bench.add(timings.millis(saving, contender)));
        bench.add(timings.compared(saving, DISTRIBUTED, DCP_SAVE));
    }

    /// Models of ONNX that have the tensors in them, or in a file besides.
    private void importOnnx() throws IOException {
        Path model = bench.file("model.onnx");
        Path data = bench.file("model.onnx.data");
        for (boolean isExternal : List.of(false, true)) {
            bench.prepare(workload);
            bench.python().ask("write_onnx", model, isExternal);
            String made = workload.what() + (isExternal ? ", in a file besides: " : ", in the model: ");
            Timings timings = bench.time(List.of(Contender.opening(ONNX, model, workload.someName()),
                    bench.python().contender(ONNX_LOAD, "onnx_element", model, workload.someName())));
            bench.settleAll(model, data);
            timings.contenders().forEach(contender -> bench.add(timings.millis(made, contender)));
            bench.add(timings.compared(made, ONNX, ONNX_LOAD));
        }
    }
}
