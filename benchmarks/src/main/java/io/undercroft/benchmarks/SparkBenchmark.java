package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;

/// The job of `undercroft-spark` that verifies files, on 200 `.croft` files in the page cache: by one executor and by
/// two, in turn. An executor is a process with one core. The time is that of the job in a running session; starting the
/// executors and what the first jobs compile do not count.
final class SparkBenchmark {
    /// On a machine with one processor, the common pool has a thread besides the one that calls.
    private static final String ONE_CORE = "-XX:+UseSerialGC -XX:ActiveProcessorCount=1"
            + " -Djava.util.concurrent.ForkJoinPool.common.parallelism=0";
    private static final int FILES = 200;
    private static final double GOAL = 0.6;
    private static final String OPENS = "--add-opens=java.base/";
    private static final List<String> OPENED = List.of("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io",
            "java.net", "java.nio", "java.util", "java.util.concurrent", "java.util.concurrent.atomic",
            "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs", "sun.util.calendar");

    private final Bench bench;

    private SparkBenchmark(Bench bench) {
        this.bench = bench;
    }

    static void run(Bench bench) throws IOException {
        new SparkBenchmark(bench).measure();
    }

    private void measure() throws IOException {
        Path files = Files.createDirectory(bench.file("checkpoints"));
        int elements = bench.choose(4 << 20, 1 << 20);
        long nbytes = make(files, elements);
        try (Peer one = driver(1); Peer two = driver(2)) {
            Timings timings = bench.time(List.of(one.contender("one executor", "verify", files),
                    two.contender("two executors", "verify", files)));
            for (String contender : timings.contenders()) {
                bench.add(Figure.of("verify %d files of %d MiB: %s".formatted(FILES, (elements * 4) >> 20, contender),
                        timings.of(contender), "s"));
                bench.add(Figure.of("the same: " + contender,
                        timings.of(contender).map(seconds -> nbytes / 0x1p30 / seconds), "GiB/s"));
            }
            bench.add(Figure.of("two executors, compared with one",
                    timings.of("two executors").over(timings.of("one executor")), "x").atMost(GOAL));
        }
    }

    private static long make(Path directory, int elements) throws IOException {
        Random random = new Random(1);
        float[] values = new float[elements];
        for (int i = 0; i < elements; i++) {
            values[i] = random.nextFloat();
        }
        long nbytes = 0;
        for (int i = 0; i < FILES; i++) {
            values[0] = i;
            Path file = directory.resolve("checkpoint-" + i + ".croft");
            Checkpoint.save(file, Map.of("weights", Tensor.of(values, elements)));
            nbytes += Files.size(file);
        }
        return nbytes;
    }

    /// Starts the driver of a cluster with some executors, as `spark-submit` does.
    private Peer driver(int executors) throws IOException {
        Path source = Peer.resource("SparkDriver.java", bench.directory());
        Path target = Path.of(System.getProperty("undercroft.repository")).resolve("spark/target");
        String classPath = target.resolve("classes") + ":" + Files.readString(target.resolve("classpath")).strip();
        List<String> command = Stream.of(
                Stream.of(Peer.java(), "-Xmx512m", "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED",
                        "--sun-misc-unsafe-memory-access=allow"),
                OPENED.stream().map(name -> OPENS + name + "=ALL-UNNAMED"),
                Stream.of("-cp", classPath, source.toString(), Integer.toString(executors), ONE_CORE))
                .flatMap(each -> each).toList();
        Path home = Files.createDirectories(bench.file("spark-home-" + executors).toAbsolutePath());
        Files.createDirectories(home.resolve("jars"));
        return new Peer(command, Map.of("SPARK_HOME", home.toString(), "SPARK_SCALA_VERSION", "2.13",
                "SPARK_LOCAL_IP", "127.0.0.1", "JAVA_HOME", System.getProperty("java.home")));
    }
}
