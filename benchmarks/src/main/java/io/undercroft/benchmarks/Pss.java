package io.undercroft.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// The proportional set size of processes, as Linux counts it: a page that several processes have counts for each of
/// them by its share, so that the sum over all is the memory that is really used.
final class Pss {
    private static final String LABEL = "Pss:";

    private Pss() {}

    /// {@return the sum over processes, in bytes}
    ///
    /// @param pids which processes
    /// @throws IOException if one of them is gone, or this is not Linux
    static long of(List<Long> pids) throws IOException {
        long sum = 0;
        for (long pid : pids) {
            try (Stream<String> lines = Files.lines(Path.of("/proc", Long.toString(pid), "smaps_rollup"))) {
                sum += lines.filter(line -> line.startsWith(LABEL)).mapToLong(Pss::bytes).sum();
            }
        }
        return sum;
    }

    /// {@return the sum over the mappings of one file in processes, in bytes}
    ///
    /// @param pids which processes
    /// @param file how the name of the file ends
    /// @throws IOException if one of them is gone, or this is not Linux
    static long of(List<Long> pids, String file) throws IOException {
        long sum = 0;
        for (long pid : pids) {
            boolean counts = false;
            for (String line : Files.readAllLines(Path.of("/proc", Long.toString(pid), "smaps"))) {
                // The lines of a mapping follow one that begins with its addresses and ends with its file.
                boolean isHead = line.matches("[0-9a-f]+-[0-9a-f]+ .*");
                counts = isHead ? line.endsWith(file) : counts;
                sum += counts && line.startsWith(LABEL) ? bytes(line) : 0;
            }
        }
        return sum;
    }

    private static long bytes(String line) {
        return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
    }
}
