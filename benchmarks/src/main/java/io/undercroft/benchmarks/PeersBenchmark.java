package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CheckpointFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/// Frequent operations on checkpoints by this library, PyTorch, safetensors and NumPy, each with files of its own
/// format and its fastest call: with the same tensors, in turn, in one run. Loads are measured with the files in the
/// page cache and with the files read from the disk. Writes a table in Markdown and a chart as SVG.
final class PeersBenchmark {
    private static final String OURS = "Undercroft";
    private static final String OURS_SAFETENSORS = "Undercroft, .safetensors";
    private static final String TORCH = "PyTorch";
    private static final String SAFETENSORS = "safetensors";
    private static final String NUMPY = "NumPy";
    private static final List<String> COLUMNS = List.of(OURS, OURS_SAFETENSORS, TORCH, SAFETENSORS, NUMPY);
    private static final List<String> PEERS = List.of(TORCH, SAFETENSORS, NUMPY);
    private static final ValueLayout.OfInt WORD = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int PAGE = 4096;
    /// Between two snapshots, one of this number of tensors changes.
    private static final int CHANGED = 100;
    private static final Duration WARM_UP = Duration.ofSeconds(2);

    private final Bench bench;
    private final Path results;
    private final List<Figure> figures = new ArrayList<>();
    private final StringBuilder tables = new StringBuilder();
    private final List<DotChart> charts = new ArrayList<>();

    private final Path croft;
    private final Path pt;
    private final Path safetensors;
    private final Path npz;

    /// @param results the directory for the table and the chart
    PeersBenchmark(Bench bench, Path results) {
        this.bench = bench;
        this.results = results;
        this.croft = bench.file("model.croft");
        this.pt = bench.file("model.pt");
        this.safetensors = bench.file("model.safetensors");
        this.npz = bench.file("model.npz");
    }

    List<Figure> run() throws IOException {
        measure(new Workload("16 MiB in 256 tensors", 256, 128, 128));
        if (bench.effort() == Effort.FULL) {
            measure(new Workload("1 GiB in 256 tensors", 256, 1024, 1024));
        }
        return figures;
    }

    private void measure(Workload workload) throws IOException {
        bench.prepare(workload);
        bench.peers().ask("write_numpy", npz);
        Map<String, Object> state = SaveBenchmark.copyToMemory(pt);
        Checkpoint.save(croft, state);

        DotChart chart = new DotChart(workload.what(), PEERS.size() + 1);
        tables.append("| ").append(workload.what()).append(" | ").append(String.join(" | ", COLUMNS))
                .append(" | compared with the fastest other |\n|---|").append("---|".repeat(COLUMNS.size() + 1))
                .append('\n');
        job(workload, chart, "save, durable", WARM_UP, saves(state));
        job(workload, chart, "save again, 1 % changed, durable", WARM_UP, secondSaves(state));
        state.values().forEach(tensor -> ((Tensor) tensor).storage().release());
        state.clear();
        bench.peers().ask("forget");
        job(workload, chart, "convert .pt to .safetensors, durable", WARM_UP, conversions());

        String tensor = workload.someName();
        readingJob(workload, chart, "open, one element", opens(tensor));
        readingJob(workload, chart, "open, one tensor", refreshed(oneTensor(tensor), workload));
        readingJob(workload, chart, "load all into memory", refreshed(loads(), workload));
        readingJob(workload, chart, "map all, read from each page", touches());
        tables.append('\n');
        charts.add(chart);
        Files.writeString(results.resolve("peers.md"), tables);
        Files.writeString(results.resolve("peers.svg"), DotChart.page(charts));
        bench.peers().ask("settle", croft, pt, safetensors, npz);
    }

    private void readingJob(Workload workload, DotChart chart, String what, List<Contender> contenders)
            throws IOException {
        job(workload, chart, what, WARM_UP, contenders);
        job(workload, chart, what + ", from the disk", Duration.ZERO,
                contenders.stream().map(this::evicted).toList());
    }

    private static List<Contender> refreshed(List<Contender> contenders, Workload workload) {
        return contenders.stream().map(contender -> EagerBenchmark.refreshed(contender, workload.nbytes())).toList();
    }

    /// Measures the same after removing the files of all contenders from the page cache.
    private Contender evicted(Contender contender) {
        return new Contender(contender.name(), () -> {
            bench.peers().ask("evict", croft, pt, safetensors, npz);
            return contender.task().run();
        });
    }

    private List<Contender> saves(Map<String, Object> state) {
        Path made = bench.file("made.croft");
        Path madeSafetensors = bench.file("made.safetensors");
        return List.of(bench.writing(OURS, made, path -> Checkpoint.save(path, state), nbytes(state)),
                bench.writing(OURS_SAFETENSORS, madeSafetensors, path -> Checkpoint.save(path, state), nbytes(state)),
                peer(TORCH, "torch_save_durably", bench.file("made.pt")),
                peer(SAFETENSORS, "safetensors_save_durably", madeSafetensors),
                peer(NUMPY, "numpy_savez_durably", bench.file("made.npz")));
    }

    /// The other libraries save everything again, since none of them can append.
    private List<Contender> secondSaves(Map<String, Object> state) throws IOException {
        Path file = bench.file("snapshots.croft");
        Checkpoint.save(file, state);
        List<Storage> changing = new ArrayList<>();
        for (Object tensor : state.values()) {
            changing.add(((Tensor) tensor).storage());
        }
        changing.subList(Math.max(1, changing.size() / CHANGED), changing.size()).clear();
        return List.of(new Contender(OURS, () -> {
            for (Storage storage : changing) {
                storage.fill((byte) (storage.get(0) + 1));
            }
            bench.peers().ask("settle");
            long start = System.nanoTime();
            CheckpointFile.open(file).commit(state, SaveOptions.defaults());
            return outcome(start, (double) nbytes(state));
        }), peer(TORCH, "torch_save_durably", bench.file("made.pt")),
                peer(SAFETENSORS, "safetensors_save_durably", bench.file("made.safetensors")),
                peer(NUMPY, "numpy_savez_durably", bench.file("made.npz")));
    }

    private List<Contender> conversions() {
        Path made = bench.file("made.safetensors");
        return List.of(bench.writing(OURS, made, path -> {
            try (Checkpoint checkpoint = Checkpoint.open(pt)) {
                Checkpoint.save(path, checkpoint.tree());
            }
        }, 0), peer(TORCH, "torch_to_safetensors", pt, made));
    }

    private List<Contender> opens(String tensor) {
        return List.of(Contender.opening(OURS, croft, tensor),
                Contender.opening(OURS_SAFETENSORS, safetensors, tensor),
                peer(TORCH, "torch_load_mmap", pt, tensor),
                peer(SAFETENSORS, "safetensors_safe_open", safetensors, tensor),
                peer(NUMPY, "numpy_element", npz, tensor));
    }

    private List<Contender> oneTensor(String tensor) {
        return List.of(copyingOne(OURS, croft, tensor), copyingOne(OURS_SAFETENSORS, safetensors, tensor),
                peer(TORCH, "torch_one", pt, tensor), peer(SAFETENSORS, "safetensors_one", safetensors, tensor),
                peer(NUMPY, "numpy_one", npz, tensor));
    }

    private static Contender copyingOne(String name, Path file, String tensor) {
        return new Contender(name, () -> {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                Tensor copy = checkpoint.tensor(tensor).copy();
                double seconds = (System.nanoTime() - start) / 1e9;
                double witness = witness(sum(copy.bytes(), Integer.BYTES));
                copy.storage().release();
                return new Contender.Outcome(seconds, witness);
            }
        });
    }

    private List<Contender> loads() {
        return List.of(loading(OURS, croft), loading(OURS_SAFETENSORS, safetensors),
                peer(TORCH, "torch_load_all_fresh", pt), peer(SAFETENSORS, "safetensors_load_all_fresh", safetensors),
                peer(NUMPY, "numpy_load_all_fresh", npz));
    }

    private static Contender loading(String name, Path file) {
        return new Contender(name, () -> {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().inMemory())) {
                double seconds = (System.nanoTime() - start) / 1e9;
                return new Contender.Outcome(seconds, sum(checkpoint, Integer.BYTES));
            }
        });
    }

    private List<Contender> touches() {
        return List.of(touching(OURS, croft), touching(OURS_SAFETENSORS, safetensors),
                peer(TORCH, "torch_touch", pt), peer(SAFETENSORS, "safetensors_touch", safetensors));
    }

    private static Contender touching(String name, Path file) {
        return new Contender(name, () -> {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                return outcome(start, sum(checkpoint, PAGE));
            }
        });
    }

    private static Contender.Outcome outcome(long start, double witness) {
        return new Contender.Outcome((System.nanoTime() - start) / 1e9, witness);
    }

    private Contender peer(String column, String function, Object... arguments) {
        Object[] request = new Object[arguments.length + 1];
        request[0] = function;
        System.arraycopy(arguments, 0, request, 1, arguments.length);
        return bench.peers().contender(column, request);
    }

    private static long nbytes(Map<String, Object> state) {
        return state.values().stream().mapToLong(tensor -> ((Tensor) tensor).nbytes()).sum();
    }

    /// Returns the sum of the words of all tensors that are a distance apart, as `all_read` and `touched` in Python.
    private static double sum(Checkpoint checkpoint, int distance) {
        long sum = 0;
        for (Tensor tensor : checkpoint.tensors().values()) {
            sum += sum(tensor.bytes(), distance);
        }
        return witness(sum);
    }

    /// Sums are printed as numbers that a double represents exactly.
    private static double witness(long sum) {
        return (double) Math.floorMod(sum, 1L << 52);
    }

    private static long sum(MemorySegment bytes, int distance) {
        long sum = 0;
        for (long at = 0; at < bytes.byteSize(); at += distance) {
            sum += bytes.get(WORD, at);
        }
        return sum;
    }

    private void job(Workload workload, DotChart chart, String what, Duration warmUp, List<Contender> contenders)
            throws IOException {
        Timings timings = new Rounds(warmUp, bench.rounds()).time(contenders);
        List<String> present = timings.contenders();
        for (String contender : present) {
            figures.add(Figure.of(workload.what() + ", " + what + ": " + contender,
                    timings.of(contender).map(s -> s * 1e3), "ms"));
        }
        List<String> others = PEERS.stream().filter(present::contains).toList();
        for (String other : others) {
            figures.add(Figure.of(workload.what() + ", " + what + ": " + OURS + " compared with " + other,
                    timings.speedup(OURS, other), "x"));
        }
        String fastest = others.stream().min(Comparator.comparingDouble(other -> timings.of(other).median()))
                .orElseThrow();
        Samples ratio = timings.speedup(OURS, fastest);
        tables.append("| ").append(what);
        for (String column : COLUMNS) {
            tables.append(" | ").append(present.contains(column) ? Timings.shown(timings.of(column).median()) : "");
        }
        tables.append(String.format(Locale.ROOT, " | %.3g x (%.3g to %.3g) |%n", ratio.median(), ratio.quantile(0.25),
                ratio.quantile(0.75)));
        chart.row(what);
        for (String column : present) {
            if (!column.equals(OURS_SAFETENSORS)) {
                chart.point(column, column.equals(OURS) ? 0 : 1 + PEERS.indexOf(column), timings.of(column).median());
            }
        }
    }
}
