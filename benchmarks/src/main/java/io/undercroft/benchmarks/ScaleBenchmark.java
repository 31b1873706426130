package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

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
    /// The names of the cases: three sizes, and three numbers of tensors.
    static final List<String> CASES = List.of("small", "medium", "large", "few", "many", "most");

    private final Bench bench;
    private final List<Group> groups;

    /// A file.
    ///
    /// @param name what the user calls it
    /// @param x its size or its number of tensors, for the chart
    /// @param workload its tensors, and its size or number in words
    private record Case(String name, double x, Workload workload) {}

    /// Cases that differ in one thing.
    ///
    /// @param what what they differ in
    /// @param axis the same as the label of an axis
    /// @param unit what the name of a case ends with in the report
    /// @param cases those that are measured, the smallest first
    /// @param opens the times of opens
    /// @param saves the times of saves
    private record Group(String what, String axis, String unit, List<Case> cases, Table opens, Table saves) {}

    private ScaleBenchmark(Bench bench) {
        this.bench = bench;
        this.groups = List.of(
                group("size", "size of the file, 16 tensors", " in 16 tensors", bench.isFull()
                        ? List.of(ofSize("small", "16 MiB", 512, 512), ofSize("medium", "1 GiB", 4096, 4096),
                                ofSize("large", "8 GiB", 8192, 16_384))
                        : List.of(ofSize("small", "1 MiB", 128, 128), ofSize("medium", "16 MiB", 512, 512),
                                ofSize("large", "64 MiB", 1024, 1024))),
                group("tensors of 32 bytes", "number of tensors of 32 bytes", " tensors", bench.isFull()
                        ? List.of(ofCount("few", "10", 10), ofCount("many", "10 000", 10_000),
                                ofCount("most", "1 000 000", 1_000_000))
                        : List.of(ofCount("few", "10", 10), ofCount("many", "1000", 1000),
                                ofCount("most", "10 000", 10_000))));
    }

    private static Case ofSize(String name, String what, int rows, int columns) {
        Workload workload = new Workload(what, 16, rows, columns);
        return new Case(name, workload.nbytes(), workload);
    }

    private static Case ofCount(String name, String what, int count) {
        return new Case(name, count, new Workload(what, count, 2, 4));
    }

    private Group group(String what, String axis, String unit, List<Case> cases) {
        List<Case> chosen = cases.stream()
                .filter(each -> bench.only().isEmpty() || bench.only().equals(each.name)).toList();
        return new Group(what, axis, unit, chosen, new Table(), new Table());
    }

    static void run(Bench bench) throws IOException {
        ScaleBenchmark benchmark = new ScaleBenchmark(bench);
        for (Group group : benchmark.groups) {
            for (Case scale : group.cases) {
                benchmark.measure(group, scale.workload);
                benchmark.write();
            }
        }
    }

    /// What is measured so far; the last cases take minutes. The chart needs all cases.
    private void write() throws IOException {
        StringBuilder tables = new StringBuilder();
        groups.forEach(group -> tables.append(group.opens.markdown("open, one element: " + group.what)));
        groups.forEach(group -> tables.append(group.saves.markdown("save: " + group.what)));
        bench.write("scale", ".md", tables);
        if (bench.only().isEmpty()) {
            List<LogChart> charts = new ArrayList<>();
            groups.forEach(group -> charts.add(group.opens.chart("Open and read one element", group)));
            groups.forEach(group -> charts.add(group.saves.chart("Save", group)));
            bench.write("scale", ".svg", LogChart.page(charts));
        }
    }

    private void measure(Group group, Workload workload) throws IOException {
        Path pt = bench.pt();
        Path safetensors = bench.safetensors();
        Path croft = bench.croft();
        Peer python = bench.python();
        python.ask("make_counting", workload.count(), workload.rows(), workload.columns());
        Timings saved = time(List.of(python.contender(TORCH_DURABLE, "torch_save_durably", pt),
                python.contender(SAVE_FILE, "safetensors_save_file", safetensors)));
        python.ask("write", pt, safetensors);
        python.ask("forget");
        Map<String, Tensor> state = state(workload);
        saved = saved.and(time(List.of(
                bench.writing(OURS_DURABLE, croft, workload.nbytes(), path -> Checkpoint.save(path, state)))));
        Checkpoint.save(croft, state);
        Bench.release(state);
        report(group, workload, "save", saved, group.saves);
        String tensor = workload.someName();
        report(group, workload, "open", time(List.of(Contender.opening(OURS, croft, tensor),
                Contender.opening(OURS_SAFETENSORS, safetensors, tensor),
                python.contender(TORCH_LOAD, "torch_load_mmap", pt, tensor),
                python.contender(SAFE_OPEN, "safetensors_safe_open", safetensors, tensor))), group.opens);
        bench.settleAll();
    }

    /// Tensors as those of `make_counting` in Python.
    private static Map<String, Tensor> state(Workload workload) {
        Map<String, Tensor> state = LinkedHashMap.newLinkedHashMap(workload.count());
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

    private Timings time(List<Contender> contenders) throws IOException {
        return Rounds.bounded(bench.warmUp(), bench.rounds()).time(contenders);
    }

    private void report(Group group, Workload workload, String what, Timings timings, Table table) {
        for (String contender : timings.contenders()) {
            bench.add(timings.millis(workload.what() + group.unit + ", " + what + ": ", contender));
            table.put(contender, workload.what(), timings.of(contender).median());
        }
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
            text.append(row(title, columns, column -> column)).append("|---".repeat(columns.size() + 1)).append("|\n");
            rows.forEach((contender, row) -> text.append(row(contender, columns, column -> {
                Double seconds = row.get(column);
                return seconds == null ? "" : Timings.shown(seconds);
            })));
            return text.append('\n').toString();
        }

        private static String row(String first, List<String> columns, UnaryOperator<String> cell) {
            return Bench.row(Stream.concat(Stream.of(first), columns.stream().map(cell)).toList());
        }

        LogChart chart(String title, Group group) {
            List<LogChart.Series> series = new ArrayList<>();
            rows.forEach((contender, row) -> {
                List<LogChart.Point> points = new ArrayList<>();
                for (Case scale : group.cases) {
                    Double seconds = row.get(scale.workload.what());
                    if (seconds != null) {
                        points.add(new LogChart.Point(scale.x, seconds));
                    }
                }
                series.add(new LogChart.Series(contender, COLOURS.indexOf(contender) % LogChart.COLOURS, points));
            });
            return new LogChart(title, group.axis, group.cases.stream()
                    .map(scale -> new LogChart.Tick(scale.x, scale.workload.what())).toList(), series);
        }
    }
}
