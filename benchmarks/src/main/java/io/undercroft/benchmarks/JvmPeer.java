package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.PublishedCheckpoint;
import io.undercroft.storage.DType;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/// A JVM that answers requests, see [Peer]:
///
/// - `versions`: nothing, as soon as it has started;
/// - `attach NAME TENSOR TIMES`: the milliseconds of each time from the name of a published checkpoint to one element;
/// - `read NAME`, `map FILE`, `load FILE`: the sum of all bytes; what was opened stays open until the JVM ends;
/// - `model FOLDER TENSOR`: milliseconds for opening, names and the elements of the tensor, then the MiB that were
///   read, that are mapped of the folder, that the process has in memory, and that are used of the heap.
final class JvmPeer {
    private static final List<Checkpoint> KEPT = new ArrayList<>();

    private JvmPeer() {}

    /// Runs until its input ends.
    ///
    /// @param arguments none
    /// @throws IOException if something cannot be opened
    public static void main(String... arguments) throws IOException {
        try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] request = line.split("\t", -1);
                System.out.println("ok\t" + switch (request[0]) {
                    case "attach" -> attach(request[1], request[2], Integer.parseInt(request[3]));
                    case "read" -> sum(PublishedCheckpoint.attach(request[1]));
                    case "map" -> sum(Checkpoint.open(Path.of(request[1])));
                    case "load" -> sum(Checkpoint.open(Path.of(request[1]), OpenOptions.defaults().inMemory()));
                    case "model" -> model(request[1], request[2]);
                    default -> System.getProperty("java.version");
                });
            }
        }
    }

    private static String attach(String name, String tensor, int times) throws IOException {
        List<String> millis = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = PublishedCheckpoint.attach(name)) {
                if (checkpoint.tensor(tensor).getFloat(1, 3) == 0) {
                    throw new IOException("the element of " + tensor + " is not what was published");
                }
                millis.add(Double.toString((System.nanoTime() - start) / 1e6));
            }
        }
        return String.join("\t", millis);
    }

    private static long sum(Checkpoint opened) {
        KEPT.add(opened);
        return opened.storages().stream().mapToLong(storage -> Contender.sum(storage.segment(), Integer.BYTES)).sum();
    }

    private static String model(String folder, String tensor) throws IOException {
        long read = number("/proc/self/io", "rchar:");
        long start = System.nanoTime();
        try (Checkpoint checkpoint = Checkpoint.open(Path.of(folder))) {
            long opened = System.nanoTime();
            int names = checkpoint.names().size();
            long named = System.nanoTime();
            float[] elements = checkpoint.tensor(tensor).to(DType.FLOAT32).toFloatArray();
            long end = System.nanoTime();
            long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
            return String.format(Locale.ROOT, "%f\t%f\t%f\t%f\t%f\t%f\t%f\t%d\t%d", (opened - start) / 1e6,
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
