package io.undercroft.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/// The resident memory of this process, as Linux counts it.
final class PeakMemory {
    private static final Path RESET = Path.of("/proc/self/clear_refs");
    private static final Path STATUS = Path.of("/proc/self/status");

    private PeakMemory() {}

    /// What may take memory.
    @FunctionalInterface
    interface Task {
        void run() throws IOException;
    }

    /// {@return how many bytes the process had more, at the peak, than before}
    ///
    /// @param task what it did meanwhile
    /// @throws IOException if that fails, or this is not Linux
    static long during(Task task) throws IOException {
        // Sets the peak to what there is now.
        Files.writeString(RESET, "5");
        long before = bytes("VmRSS:");
        task.run();
        return bytes("VmHWM:") - before;
    }

    private static long bytes(String label) throws IOException {
        List<String> lines = Files.readAllLines(STATUS);
        return lines.stream().filter(line -> line.startsWith(label))
                .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) << 10).sum();
    }
}
