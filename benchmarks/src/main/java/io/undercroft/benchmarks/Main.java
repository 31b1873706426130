package io.undercroft.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/// Runs a benchmark by name; `benchmarks/run` starts it.
public final class Main {
    private static final String USAGE = """
            usage: benchmarks/run NAME [--quick] [--dir DIR] [--rounds N] [--case CASE]

              open        open a file and read one element, compared with torch and safetensors
              eager       load 1 GiB into memory, compared with reading the file, torch and safetensors
              save        save 1 GiB durably, compared with torch and safetensors
              async       how long a save of 1 GiB in the background keeps its caller, compared with a memory copy
              delta       save a second snapshot of 1 GiB of which one chunk in a hundred has changed
              compress    sizes of compressed models, fine-tunes and trainings, compared with gzip and zstd; coding,
                          decoding and reading a row
              stitch      map a storage that lies in 16 384 extents as one range, compared with copying it
              attach      let eight JVMs attach to a published checkpoint of 2 GiB, compared with eight Pythons
              serve       four JVMs and four Pythons with an ONNX model of 1 GiB: memory, start, change of the version
              import      open files of 10 000 tensors that torch and safetensors wrote, compared with these
              model       open a folder of safetensors files of 70 GB, compared with safetensors
              convert     make files of 1 GiB of one format from another, compared with a save from memory
              startup     open a small file in a new JVM, compared with a new Python that imports safetensors; the
                          start of the command croft, compared with a bare JVM
              peers       save, convert, open and load by this library, PyTorch, safetensors and NumPy, the memory of
                          several processes, and the limits of the machine; draws peers.svg
              loops       time and allocation of operations that run very often
              scale       open and save files of 16 MiB to 8 GiB, and of 10 to 1 000 000 tensors; draws scale.svg
              simulation  what a checkpoint of 10 TB in 10 000 shards and a fleet of 100 000 checkpoints would cost
              spark       verify 200 files by the job of undercroft-spark, with one executor and with two
              storage     copy, fill, convert, read elements and make views, compared with MemorySegment and torch

              --quick     smaller and shorter: less than a minute
              --dir DIR   put the files on the disk of this directory (default: benchmarks/target); for save also a
                          directory in memory (/dev/shm): then it is compared with a plain copy
              --rounds N  counted rounds of each measurement
              --case CASE of scale and peers only this case: small, medium or large (16 MiB, 1 or 8 GiB), or few, many
                          or most (10, 10 000 or 1 000 000 tensors); of peers also processes, and jvm: a file of
                          safetensors of 1 GiB compared with Jlama, DJL and a reader by hand. Without it, peers
                          leaves out jvm, large, which needs 48 GiB of the disk, and most; both take minutes

            UNDERCROFT_PYTHON may name a Python that has torch, safetensors and numpy.""";
    private static final Map<String, Entry> BENCHMARKS = new LinkedHashMap<>();

    static {
        add("open", 30, 15, OpenBenchmark::open);
        add("eager", 15, 5, EagerBenchmark::run);
        add("save", 5, 3, SaveBenchmark::onDisk);
        add("async", 7, 3, AsyncBenchmark::run);
        add("delta", 10, 5, DeltaBenchmark::run);
        add("compress", 9, 3, CompressBenchmark::run);
        add("stitch", 30, 10, StitchBenchmark::run);
        add("attach", 50, 20, AttachBenchmark::run);
        add("serve", 1, 1, ServeBenchmark::run);
        add("import", 30, 15, OpenBenchmark::imports);
        add("model", 15, 5, ModelBenchmark::run);
        add("convert", 5, 3, ConvertBenchmark::run);
        add("startup", 15, 5, StartupBenchmark::run);
        add("peers", 7, 3, PeersBenchmark::run);
        add("scale", 7, 3, ScaleBenchmark::run);
        add("simulation", 5, 1, ClusterSimulation::run);
        add("spark", 9, 3, SparkBenchmark::run);
        add("storage", 3, 1, JmhBenchmark::storage);
        add("loops", 3, 1, JmhBenchmark::loops);
    }

    private static final Entry SAVE_IN_MEMORY = new Entry(9, 3, SaveBenchmark::inMemory);

    /// A benchmark, and how many rounds it has usually.
    private record Entry(int fullRounds, int quickRounds, Bench.Benchmark benchmark) {}

    private static void add(String name, int fullRounds, int quickRounds, Bench.Benchmark benchmark) {
        BENCHMARKS.put(name, new Entry(fullRounds, quickRounds, benchmark));
    }

    private String name = "";
    private boolean isFull = true;
    private Path directory;
    private int rounds;
    private String only = "";

    private Main(Path directory) {
        this.directory = directory;
    }

    /// Runs one benchmark and prints its report. Exits with 1 if it cannot run and 2 if the arguments are wrong; a
    /// missed goal is a finding, not an error.
    ///
    /// @param arguments the default directory, the Python interpreter, then what the user gave
    public static void main(String... arguments) {
        Deque<String> left = new ArrayDeque<>(List.of(arguments));
        var main = new Main(Path.of(left.removeFirst()));
        String python = left.removeFirst();
        if (left.contains("--help") || left.contains("-h")) {
            System.out.println(USAGE);
            return;
        }
        try {
            main.parse(left);
        } catch (IllegalArgumentException e) {
            System.err.println("benchmarks: " + e.getMessage());
            System.exit(2);
        }
        try {
            main.run(python).print(System.out);
        } catch (IOException e) {
            System.err.println(e.getMessage());
            System.exit(1);
        }
    }

    private void parse(Deque<String> left) {
        while (!left.isEmpty()) {
            String argument = left.removeFirst();
            switch (argument) {
                case "--quick" -> isFull = false;
                case "--dir" -> directory = Path.of(value(argument, left));
                case "--case" -> only = value(argument, left);
                case "--rounds" -> rounds = rounds(value(argument, left));
                default -> takeName(argument);
            }
        }
        if (name.isEmpty()) {
            throw new IllegalArgumentException("which benchmark? There are " + String.join(", ", BENCHMARKS.keySet()));
        }
        checkCase();
    }

    private void checkCase() {
        List<String> cases = switch (name) {
            case "peers" -> PeersBenchmark.CASES;
            case "scale" -> ScaleBenchmark.CASES;
            default -> List.of();
        };
        if (!only.isEmpty() && !cases.contains(only)) {
            throw new IllegalArgumentException(
                    name + " has no case '" + only + "'; it has "
                            + (cases.isEmpty() ? "none" : String.join(", ", cases)));
        }
    }

    private void takeName(String argument) {
        if (argument.startsWith("-")) {
            throw new IllegalArgumentException(
                    "there is no option '" + argument + "'; there are --quick, --dir DIR, --rounds N and --case CASE");
        }
        if (!BENCHMARKS.containsKey(argument)) {
            throw new IllegalArgumentException(
                    "no benchmark is called '" + argument + "'; there are " + String.join(", ", BENCHMARKS.keySet()));
        }
        if (!name.isEmpty()) {
            throw new IllegalArgumentException("one benchmark at a time, not both " + name + " and " + argument);
        }
        name = argument;
    }

    private static int rounds(String text) {
        if (!text.matches("[1-9]\\d{0,5}")) {
            throw new IllegalArgumentException("--rounds is a number from 1 to 999999, not '" + text + "'");
        }
        return Integer.parseInt(text);
    }

    private static String value(String option, Deque<String> left) {
        if (left.isEmpty() || left.getFirst().startsWith("--")) {
            throw new IllegalArgumentException(option + " needs a value");
        }
        return left.removeFirst();
    }

    private Report run(String python) throws IOException {
        Files.createDirectories(directory);
        Map<String, String> environment = Environment.of(directory);
        Entry entry = Objects.requireNonNull(BENCHMARKS.get(name));
        if ("tmpfs".equals(environment.get("filesystem"))) {
            if (!name.equals("save")) {
                throw new IOException(directory + " is in memory, not on a disk; choose another with --dir");
            }
            entry = SAVE_IN_MEMORY;
        }
        int usual = isFull ? entry.fullRounds : entry.quickRounds;
        Path scratch = Files.createTempDirectory(directory, "bench-");
        try (Peer peer = Peer.python(python, scratch)) {
            List<String> versions = peer.ask("versions");
            environment.put("python", versions.get(0));
            environment.put("torch", versions.get(1));
            environment.put("safetensors", versions.get(2));
            environment.put("torch threads", versions.get(3));
            Bench bench = new Bench(peer, scratch, directory, isFull, rounds > 0 ? rounds : usual, only,
                    new ArrayList<>());
            entry.benchmark.run(bench);
            return new Report(name, bench.figures(), environment);
        } finally {
            remove(scratch);
        }
    }

    private static void remove(Path directory) throws IOException {
        try (Stream<Path> found = Files.walk(directory)) {
            for (Path file : found.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
