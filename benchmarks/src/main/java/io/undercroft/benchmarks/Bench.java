package io.undercroft.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;

/// What a benchmark works with.
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

    /// Has Python make the tensors of a workload and keep them, and write them as `.pt` and `.safetensors`.
    ///
    /// @param workload what to make
    /// @throws IOException if that fails
    void prepare(Workload workload) throws IOException {
        peers.ask("make", workload.count(), workload.rows(), workload.columns(), file("model.pt"),
                file("model.safetensors"));
    }
}
