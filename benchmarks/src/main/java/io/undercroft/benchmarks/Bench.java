package io.undercroft.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;

/// The context of a benchmark.
///
/// @param peers the Python process
/// @param directory where its files go; removed afterwards
/// @param effort how much time to take
/// @param rounds counted rounds of each measurement
record Bench(Peers peers, Path directory, Effort effort, int rounds) {
    /// {@return how long a contender whose task is short runs before it counts}
    Duration warmUp() {
        return effort == Effort.FULL ? Duration.ofSeconds(5) : Duration.ofSeconds(2);
    }

    /// {@return a file of the bench}
    ///
    /// @param name its name
    Path file(String name) {
        return directory.resolve(name);
    }

    /// Makes a file.
    @FunctionalInterface
    interface Writing {
        void to(Path path) throws IOException;
    }

    /// {@return a contender that makes a file of the tensors of the large workload} Before and after, the disk is left
    /// to finish what it has to write; neither counts.
    ///
    /// @param name what it is called in the report
    /// @param path the file
    /// @param writing makes it
    Contender writing(String name, Path path, Writing writing) {
        return writing(name, path, writing, Workload.large(effort).nbytes());
    }

    /// {@return a contender that makes a file of tensors of another size}
    ///
    /// @param name what it is called in the report
    /// @param path the file
    /// @param writing makes it
    /// @param witness the result that all contenders must have: the bytes of the tensors
    Contender writing(String name, Path path, Writing writing, long witness) {
        return new Contender(name, () -> {
            peers.ask("settle", path);
            long start = System.nanoTime();
            writing.to(path);
            double seconds = (System.nanoTime() - start) / 1e9;
            peers.ask("settle", path);
            return new Contender.Outcome(seconds, witness);
        });
    }

    /// Has Python make the tensors of a workload and keep them, and write them as `.pt` and `.safetensors`.
    ///
    /// @param workload what to make
    /// @throws IOException if that fails
    void prepare(Workload workload) throws IOException {
        peers.ask("make", workload.count(), workload.rows(), workload.columns(), file("model.pt"),
                file("model.safetensors"));
    }
}
