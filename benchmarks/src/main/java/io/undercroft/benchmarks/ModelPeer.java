package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/// One of the JVMs of [ModelBenchmark]. Each line names a folder and a tensor, separated by a space. The answer is
/// milliseconds for opening, names and the elements of the tensor, then the MiB that were read, that are mapped of the
/// folder, that the process has in memory, and that are used of the heap.
final class ModelPeer {
    private ModelPeer() {}

    /// Runs until its input ends.
    ///
    /// @param arguments none
    /// @throws IOException if a folder cannot be opened
    public static void main(String... arguments) throws IOException {
        try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ", -1);
                System.out.println(open(words[0], words[1]));
            }
        }
    }

    private static String open(String folder, String tensor) throws IOException {
        long read = number("/proc/self/io", "rchar:");
        long start = System.nanoTime();
        try (Checkpoint checkpoint = Checkpoint.open(Path.of(folder))) {
            long opened = System.nanoTime();
            int names = checkpoint.names().size();
            long named = System.nanoTime();
            float[] elements = checkpoint.tensor(tensor).to(DType.FLOAT32).toFloatArray();
            long end = System.nanoTime();
            long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
            return String.format(Locale.ROOT, "%f %f %f %f %f %f %f %d %d", (opened - start) / 1e6,
                    (named - opened) / 1e6, (end - named) / 1e6,
                    (number("/proc/self/io", "rchar:") - read) / 0x1p20, mapped(folder) / 0x1p20,
                    number("/proc/self/status", "VmRSS:") / 0x1p10, heap / 0x1p20, names, elements.length);
        }
    }

    private static long number(String file, String label) throws IOException {
        try (var lines = Files.lines(Path.of(file))) {
            return lines.filter(line -> line.startsWith(label)).findFirst()
                    .map(line -> Long.parseLong(line.replaceAll("[^0-9]", ""))).orElseThrow();
        }
    }

    private static long mapped(String folder) throws IOException {
        List<String> maps = Files.readAllLines(Path.of("/proc/self/maps"));
        return maps.stream().filter(line -> line.contains(folder)).map(line -> line.split("[ -]", 3))
                .mapToLong(ends -> Long.parseLong(ends[1], 16) - Long.parseLong(ends[0], 16)).sum();
    }
}
