package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The context of a benchmark, and what it has measured.
///
/// @param python the Python process
/// @param directory where its files go; removed afterwards
/// @param results where tables and charts go
/// @param isFull whether it takes the time for the figures in the documentation; otherwise less than a minute: enough
///     to see that everything runs, and the rough picture
/// @param rounds counted rounds of each measurement
/// @param only the case that the user chose, or nothing
/// @param figures what is measured so far
record Bench(Peer python, Path directory, Path results, boolean isFull, int rounds, String only,
        List<Figure> figures) {
    /// A benchmark.
    @FunctionalInterface
    interface Benchmark {
        void run(Bench bench) throws IOException;
    }

    /// Makes a file.
    @FunctionalInterface
    interface Writing {
        void to(Path path) throws IOException;
    }

    /// {@return the first of two values for full effort, and the other one for a quick look}
    <T> T choose(T full, T quick) {
        return isFull ? full : quick;
    }

    /// {@return how long a contender whose task is short runs before it counts}
    Duration warmUp() {
        return choose(Duration.ofSeconds(5), Duration.ofSeconds(2));
    }

    /// {@return a file of the bench}
    ///
    /// @param name its name
    Path file(String name) {
        return directory.resolve(name);
    }

    /// {@return the `.pt` file of [#prepare]}
    Path pt() {
        return file("model.pt");
    }

    /// {@return the `.safetensors` file of [#prepare]}
    Path safetensors() {
        return file("model.safetensors");
    }

    /// {@return the `.croft` file of [#prepareAll]}
    Path croft() {
        return file("model.croft");
    }

    /// Adds a figure to the report.
    void add(Figure figure) {
        figures.add(figure);
    }

    /// {@return the times of contenders that run in turn, equally often}
    Timings time(List<Contender> contenders) throws IOException {
        return new Rounds(warmUp(), rounds).time(contenders);
    }

    /// {@return a contender that makes a file} Before and after, the disk is left to finish what it has to write;
    /// neither counts.
    ///
    /// @param name what it is called in the report
    /// @param path the file
    /// @param witness the result that all contenders must have: the bytes of the tensors
    /// @param writing makes it
    Contender writing(String name, Path path, long witness, Writing writing) {
        Contender contender = Contender.of(name, witness, () -> writing.to(path));
        return new Contender(name, () -> {
            python.ask("settle", path);
            Contender.Outcome outcome = contender.task().run();
            python.ask("settle", path);
            return outcome;
        });
    }

    /// Has Python make the tensors of a workload and keep them, and write them as `.pt` and `.safetensors`.
    ///
    /// @param workload what to make
    /// @throws IOException if that fails
    void prepare(Workload workload) throws IOException {
        python.ask("make", workload.count(), workload.rows(), workload.columns(), pt(), safetensors());
    }

    /// Makes the files of [#prepare] and a `.croft` file, and has Python forget the tensors.
    ///
    /// @param workload what to make
    /// @throws IOException if that fails
    void prepareAll(Workload workload) throws IOException {
        prepare(workload);
        python.ask("forget");
        convert(pt(), croft());
    }

    /// Removes the files of [#prepareAll], and leaves the disk to finish what it has to write.
    ///
    /// @param others further files to remove
    /// @throws IOException if that fails
    void settleAll(Path... others) throws IOException {
        python.ask(Stream.concat(Stream.of("settle", pt(), safetensors(), croft()), Stream.of(others)).toArray());
    }

    /// Writes a table or a chart of the benchmark.
    ///
    /// @param name the name of the benchmark, to which the chosen case is added
    /// @param suffix of the file
    /// @param text its content
    /// @throws IOException if that fails
    void write(String name, String suffix, CharSequence text) throws IOException {
        Files.writeString(results.resolve(name + (only.isEmpty() ? "" : "-" + only) + suffix), text);
    }

    /// {@return a row of a table in Markdown}
    ///
    /// @param cells its cells
    static String row(List<String> cells) {
        return cells.stream().collect(Collectors.joining(" | ", "| ", " |\n"));
    }

    /// {@return the tensors of a file, in memory}
    static Map<String, Tensor> copyToMemory(Path file) throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            checkpoint.names().forEach(name -> state.put(name, checkpoint.tensor(name).copy()));
        }
        return state;
    }

    /// Frees tensors of a process that needs the memory for others.
    static void release(Map<String, Tensor> state) {
        state.values().forEach(tensor -> tensor.storage().release());
        state.clear();
    }

    /// Writes a file of one format from a file of another.
    static void convert(Path from, Path to) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(from)) {
            Checkpoint.save(to, checkpoint.tree());
        }
    }
}
