package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// How the time of an open and of a save grows with the bytes of a file, and with the number of its tensors. Writes a
/// table in Markdown and a chart as SVG.
///
/// One program at a time holds the tensors in memory, since two would not fit at the largest size: the saves of
/// Python's libraries come before those of this one. Opens are in turn.
final class ScaleBenchmark {
    private static final String OURS = "Undercroft, .croft";
    private static final String OURS_SAFETENSORS = "Undercroft, .safetensors";
    private static final String TORCH_LOAD = "torch.load(mmap=True)";
    private static final String SAFE_OPEN = "safe_open, one tensor";
    private static final String OURS_DURABLE = "Undercroft, durable";
    private static final String TORCH_DURABLE = "torch.save, then fsync";
    private static final String SAVE_FILE = "save_file, not durable";
    /// The contenders in the order of their colours.
    private static final List<String> COLOURS = List.of(OURS, OURS_SAFETENSORS, TORCH_LOAD, SAFE_OPEN, OURS_DURABLE,
            "", TORCH_DURABLE, SAVE_FILE);
    private static final List<String> SIZES = List.of("small", "medium", "large");
    private static final List<String> COUNTS = List.of("few", "many", "most");
    /// The names of the cases: three sizes, and three numbers of tensors.
    static final List<String> CASES = Stream.concat(SIZES.stream(), COUNTS.stream()).toList();

    private final Bench bench;
    private final Path results;
    private final String only;
    private final List<Figure> figures = new ArrayList<>();
    private final Table opensBySize = new Table();
    private final Table opensByCount = new Table();
    private final Table savesBySize = new Table();
    private final Table savesByCount = new Table();

    /// A file.
    ///
    /// @param what its size or its number of tensors
    /// @param x the same as a number, for the chart
    /// @param workload its tensors
    private record Case(String what, double x, Workload workload) {}

    /// @param results the directory for the table and the chart
    /// @param only one of [#CASES], or nothing for all of them; the chart needs all
    ScaleBenchmark(Bench bench, Path results, String only) {
        this.bench = bench;
        this.results = results;
        this.only = only;
    }

    List<Figure> run() throws IOException {
        boolean full = bench.effort() == Effort.FULL;
        List<Case> sizes = full
                ? List.of(ofSize("16 MiB", 512, 512), ofSize("1 GiB", 4096, 4096), ofSize("8 GiB", 8192, 16_384))
                : List.of(ofSize("1 MiB", 128, 128), ofSize("16 MiB", 512, 512), ofSize("64 MiB", 1024, 1024));
        List<Case> counts = full
                ? List.of(ofCount("10", 10), ofCount("10 000", 10_000), ofCount("1 000 000", 1_000_000))
                : List.of(ofCount("10", 10), ofCount("1000", 1000), ofCount("10 000", 10_000));
        List<Case> chosenSizes = chosen(sizes, SIZES);
        List<Case> chosenCounts = chosen(counts, COUNTS);
        for (Case scale : chosenSizes) {
            measure(scale, scale.what() + " in 16 tensors", opensBySize, savesBySize);
            write(chosenSizes, chosenCounts);
        }
        for (Case scale : chosenCounts) {
            measure(scale, scale.what() + " tensors", opensByCount, savesByCount);
            write(chosenSizes, chosenCounts);
        }
        return figures;
    }

    /// Returns the cases that are measured: all, or one of a name.
    private List<Case> chosen(List<Case> cases, List<String> names) {
        return only.isEmpty()
                ? cases
                : names.contains(only) ? List.of(cases.get(names.indexOf(only))) : List.of();
    }

    /// What is measured so far; the last cases take minutes.
    private void write(List<Case> sizes, List<Case> counts) throws IOException {
        String name = only.isEmpty() ? "scale" : "scale-" + only;
        Files.writeString(results.resolve(name + ".md"), opensBySize.markdown("open, one element: size")
                + opensByCount.markdown("open, one element: tensors of 32 bytes")
                + savesBySize.markdown("save: size") + savesByCount.markdown("save: tensors of 32 bytes"));
        if (only.isEmpty()) {
            Files.writeString(results.resolve(name + ".svg"), LogChart.page(List.of(
                    opensBySize.chart("Open and read one element", "size of the file, 16 tensors", sizes),
                    opensByCount.chart("Open and read one element", "number of tensors of 32 bytes", counts),
                    savesBySize.chart("Save", "size of the file, 16 tensors", sizes),
                    savesByCount.chart("Save", "number of tensors of 32 bytes", counts))));
        }
    }

    private static Case ofSize(String what, int rows, int columns) {
        Workload workload = new Workload(what, 16, rows, columns);
        return new Case(what, workload.nbytes(), workload);
    }

    private static Case ofCount(String what, int count) {
        return new Case(what, count, new Workload(what, count, 2, 4));
    }

    private void measure(Case scale, String what, Table opens, Table saves) throws IOException {
        Workload workload = scale.workload();
        Path pt = bench.file("scale.pt");
        Path safetensors = bench.file("scale.safetensors");
        Path croft = bench.file("scale.croft");
        Peers peers = bench.peers();
        peers.ask("make_counting", workload.count(), workload.rows(), workload.columns());
        Map<String, Samples> saved = new LinkedHashMap<>();
        time(List.of(peers.contender(TORCH_DURABLE, "torch_save_durably", pt),
                peers.contender(SAVE_FILE, "safetensors_save_file", safetensors)), saved);
        peers.ask("write", pt, safetensors);
        peers.ask("forget");
        Map<String, Object> state = state(workload);
        time(List.of(bench.writing(OURS_DURABLE, croft, path -> Checkpoint.save(path, state))), saved);
        Checkpoint.save(croft, state);
        state.values().forEach(tensor -> ((Tensor) tensor).storage().release());
        state.clear();
        report(what + ", save", saved, saves, scale);

        Map<String, Samples> opened = new LinkedHashMap<>();
        String tensor = workload.someName();
        time(List.of(Contender.opening(OURS, croft, tensor),
                Contender.opening(OURS_SAFETENSORS, safetensors, tensor),
                peers.contender(TORCH_LOAD, "torch_load_mmap", pt, tensor),
                peers.contender(SAFE_OPEN, "safetensors_safe_open", safetensors, tensor)), opened);
        report(what + ", open", opened, opens, scale);
        peers.ask("settle", pt, safetensors, croft);
    }

    /// Tensors as those of `make_counting` in Python.
    private static Map<String, Object> state(Workload workload) {
        Map<String, Object> state = LinkedHashMap.newLinkedHashMap(workload.count());
        int[] row = new int[workload.columns()];
        int next = 0;
        for (int number = 0; number < workload.count(); number++) {
            Tensor tensor = Tensor.zeros(DType.INT32, workload.rows(), workload.columns());
            MemorySegment bytes = tensor.bytes();
            for (int y = 0; y < workload.rows(); y++) {
                for (int x = 0; x < row.length; x++) {
                    row[x] = next++;
                }
                MemorySegment.copy(row, 0, bytes, ValueLayout.JAVA_INT_UNALIGNED, 4L * y * row.length, row.length);
            }
            state.put(workload.name(number), tensor);
        }
        return state;
    }

    /// Runs contenders in turn.
    ///
    /// @param seconds gets what they took
    private void time(List<Contender> contenders, Map<String, Samples> seconds) throws IOException {
        seconds.putAll(Rounds.bounded(bench.warmUp(), bench.rounds()).time(contenders).seconds());
    }

    private void report(String what, Map<String, Samples> seconds, Table table, Case scale) {
        seconds.forEach((contender, samples) -> {
            figures.add(Figure.of(what + ": " + contender, samples.map(s -> s * 1e3), "ms"));
            table.put(contender, scale.what(), samples.median());
        });
    }

    /// Median seconds by contender and case.
    private static final class Table {
        private final Map<String, Map<String, Double>> rows = new LinkedHashMap<>();

        void put(String contender, String column, double seconds) {
            rows.computeIfAbsent(contender, _ -> new LinkedHashMap<>()).put(column, seconds);
        }

        String markdown(String title) {
            List<String> columns = rows.values().stream().flatMap(row -> row.keySet().stream()).distinct().toList();
            StringBuilder text = new StringBuilder(256);
            text.append("| ").append(title).append(" | ").append(String.join(" | ", columns)).append(" |\n|---|")
                    .append("---|".repeat(columns.size())).append('\n');
            rows.forEach((contender, row) -> {
                text.append("| ").append(contender);
                columns.forEach(column -> text.append(" | ").append(shown(row.get(column))));
                text.append(" |\n");
            });
            return text.append('\n').toString();
        }

        private static String shown(@Nullable Double seconds) {
            return seconds == null ? "" : Timings.shown(seconds);
        }

        LogChart chart(String title, String xAxis, List<Case> cases) {
            List<LogChart.Series> series = new ArrayList<>();
            rows.forEach((contender, row) -> {
                List<LogChart.Point> points = new ArrayList<>();
                for (Case scale : cases) {
                    Double seconds = row.get(scale.what());
                    if (seconds != null) {
                        points.add(new LogChart.Point(scale.x(), seconds));
                    }
                }
                series.add(new LogChart.Series(contender, COLOURS.indexOf(contender) % LogChart.COLOURS, points));
            });
            return new LogChart(title, xAxis,
                    cases.stream().map(scale -> new LogChart.Tick(scale.x(), scale.what())).toList(), series);
        }
    }
}
