package io.undercroft.benchmarks;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;

/// Runs a benchmark by name; `benchmarks/run` starts it.
public final class Main {
    private static final String USAGE = """
            usage: benchmarks/run NAME [--quick] [--dir DIR] [--rounds N] [--case CASE]

              open        open a file and read one element, compared with torch and safetensors
              eager       load 1 GiB into memory, compared with reading the file, torch and safetensors
              save        save 1 GiB durably, compared with torch and safetensors
              async       how long a save of 1 GiB in the background keeps its caller, compared with a memory copy
              delta       save a second snapshot of 1 GiB of which one chunk in a hundred has changed
              stitch      map a storage that lies in 16 384 extents as one range, compared with copying it
              attach      let eight JVMs attach to a published checkpoint of 2 GiB, compared with eight Pythons
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
                          or most (10, 10 000 or 1 000 000 tensors); of peers also processes. Without it, peers
                          leaves out large, which needs 48 GiB of the disk, and most; both take minutes

            UNDERCROFT_PYTHON may name a Python that has torch, safetensors and numpy.""";
    private static final List<String> NAMES = List.of("open", "eager", "save", "async", "delta", "stitch", "attach",
            "import", "model", "convert", "startup", "peers", "scale", "simulation", "spark", "storage", "loops");

    private String name = "";
    private Effort effort = Effort.FULL;
    private Path directory;
    private int rounds;
    private String only = "";
    private boolean inMemory;

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
                case "--quick" -> effort = Effort.QUICK;
                case "--dir" -> directory = Path.of(value(argument, left));
                case "--case" -> only = value(argument, left);
                case "--rounds" -> rounds = rounds(value(argument, left));
                default -> takeName(argument);
            }
        }
        if (name.isEmpty()) {
            throw new IllegalArgumentException("which benchmark? There are " + String.join(", ", NAMES));
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
        if (!NAMES.contains(argument)) {
            throw new IllegalArgumentException(
                    "no benchmark is called '" + argument + "'; there are " + String.join(", ", NAMES));
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
        inMemory = "tmpfs".equals(environment.get("filesystem"));
        if (inMemory && !name.equals("save")) {
            throw new IOException(directory + " is in memory, not on a disk; choose another with --dir");
        }
        Path scratch = Files.createTempDirectory(directory, "bench-");
        try (Peers peers = Peers.start(python, scratch)) {
            List<String> versions = peers.ask("versions");
            environment.put("python", versions.get(0));
            environment.put("torch", versions.get(1));
            environment.put("safetensors", versions.get(2));
            environment.put("torch threads", versions.get(3));
            return new Report(name, figures(peers, scratch), environment);
        } finally {
            remove(scratch);
        }
    }

    private List<Figure> figures(Peers peers, Path scratch) throws IOException {
        return switch (name) {
            case "open" -> new OpenBenchmark(bench(peers, scratch, 30, 15)).run();
            case "eager" -> new EagerBenchmark(bench(peers, scratch, 15, 5)).run();
            case "save" -> inMemory
                    ? new MemorySaveBenchmark(bench(peers, scratch, 9, 3)).run()
                    : new SaveBenchmark(bench(peers, scratch, 5, 3)).run();
            case "async" -> new AsyncBenchmark(bench(peers, scratch, 7, 3)).run();
            case "delta" -> new DeltaBenchmark(bench(peers, scratch, 10, 5)).run();
            case "stitch" -> new StitchBenchmark(bench(peers, scratch, 30, 10)).run();
            case "attach" -> new AttachBenchmark(bench(peers, scratch, 50, 20)).run();
            case "import" -> new ImportBenchmark(bench(peers, scratch, 30, 15)).run();
            case "model" -> new ModelBenchmark(bench(peers, scratch, 15, 5)).run();
            case "convert" -> new ConvertBenchmark(bench(peers, scratch, 5, 3)).run();
            case "startup" -> new StartupBenchmark(bench(peers, scratch, 15, 5)).run();
            case "peers" -> new PeersBenchmark(bench(peers, scratch, 7, 3), directory, only).run();
            case "scale" -> new ScaleBenchmark(bench(peers, scratch, 7, 3), directory, only).run();
            case "simulation" -> new ClusterSimulation(bench(peers, scratch, 5, 1)).run();
            case "spark" -> new SparkBenchmark(bench(peers, scratch, 9, 3)).run();
            case "loops" -> new LoopsBenchmark(bench(peers, scratch, 3, 1)).run();
            default -> new StorageBenchmark(bench(peers, scratch, 3, 1)).run();
        };
    }

    private Bench bench(Peers peers, Path scratch, int fullRounds, int quickRounds) {
        int usual = effort == Effort.FULL ? fullRounds : quickRounds;
        return new Bench(peers, scratch, effort, rounds > 0 ? rounds : usual);
    }

    private static void remove(Path directory) throws IOException {
        Files.walkFileTree(directory, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path visited, IOException e) throws IOException {
                Files.delete(visited);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
