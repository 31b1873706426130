package io.undercroft.benchmarks;

import io.undercroft.benchmarks.jmh.ElementLoops;
import io.undercroft.benchmarks.jmh.HotLoops;
import io.undercroft.benchmarks.jmh.ObjectCount;
import io.undercroft.benchmarks.jmh.StorageLoops.Geometry;
import io.undercroft.benchmarks.jmh.StorageLoops;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/// Methods that JMH measures, each time in a new JVM with the flags of this one.
///
/// JMH itself would run one method to its end before it starts the next. Here, a run is one short fork, so that the
/// rounds of [Rounds] go through all contenders, Python's among them.
final class JmhBenchmark {
    private static final String OURS = "undercroft";
    private static final String PLAIN = "MemorySegment";
    private static final String TORCH = "torch, its threads";
    private static final String TORCH_ONE_THREAD = "torch, one thread";
    private static final String GGUF = "gguf.dequantize";
    private static final double BLOCK_NUMBERS = 1024 * 4096;
    /// After this, C2 has compiled the loops of blocks, which are long methods.
    private static final Duration COMPILED = Duration.ofSeconds(5);
    private static final double OF_BANDWIDTH = 0.9;
    private static final double OF_ELEMENT_ACCESS = 1.2;
    private static final double VIEW_NANOSECONDS = 50;
    private static final double VIEW_OBJECTS = 2;
    private static final double GIGA = 1e9;

    private static final int OPERATIONS = 100_000;
    private static final int WARM_UPS = 20;
    private static final String ROOM_FOR_GARBAGE = "-Xmn512m";
    private static final String ALLOCATED = "gc.alloc.rate.norm";

    private final Bench bench;
    /// How long a fork warms up, and then how long it measures.
    private final Duration each;
    /// JMH warms up itself.
    private final Rounds rounds;
    private final long nbytes;

    private JmhBenchmark(Bench bench, Duration each) {
        this.bench = bench;
        this.each = each;
        this.rounds = new Rounds(Duration.ZERO, bench.rounds());
        this.nbytes = bench.choose(256 << 20, 64 << 20);
    }

    /// Storages and tensors in memory: copies, fills, conversions, single elements, views, next to the JDK's own
    /// segments and compared with PyTorch.
    static void storage(Bench bench) throws IOException {
        JmhBenchmark benchmark = new JmhBenchmark(bench, Duration.ofMillis(bench.choose(1000, 300)));
        for (Geometry geometry : Geometry.values()) {
            benchmark.copies(geometry);
        }
        benchmark.fills();
        for (String[] dtypes : new String[][]{{"float32", "bfloat16"}, {"bfloat16", "float32"},
                {"float32", "float16"}, {"float16", "float32"}, {"int32", "float32"}, {"float32", "int32"},
                {"uint8", "float32"}}) {
            benchmark.conversion(dtypes[0], dtypes[1]);
        }
        for (int dtypes : List.of(1, 6)) {
            benchmark.elementAccess("accessor", "plainVector", dtypes);
            benchmark.elementAccess("accessorMatrix", "plainMatrix", dtypes);
            benchmark.elementAccess("accessorWrite", "plainWrite", dtypes);
            benchmark.elementAccess("vector", "plainVector", dtypes);
            benchmark.elementAccess("matrix", "plainMatrix", dtypes);
            benchmark.elementAccess("storage", "plainVector", dtypes);
            benchmark.elementAccess("write", "plainWrite", dtypes);
        }
        for (String view : List.of("select", "narrow", "transpose", "view")) {
            benchmark.views(view);
        }
    }

    /// Time and allocation on the heap of operations that run very often: of each element, chunk, tensor or file.
    static void loops(Bench bench) throws IOException {
        JmhBenchmark benchmark = new JmhBenchmark(bench, Duration.ofMillis(bench.choose(2000, 300)));
        Map<String, String> oneDType = Map.of("dtypes", "1");
        Map<String, String> directory = Map.of("directory", bench.directory().toString());
        benchmark.loop("an element by an accessor", ElementLoops.class, "accessor", oneDType);
        benchmark.loop("an element of a matrix", ElementLoops.class, "matrix", oneDType);
        benchmark.loop("allocate 4 KiB", StorageLoops.Allocations.class, "allocate", Map.of("nbytes", "4096"));
        benchmark.loop("allocate 256 MiB", StorageLoops.Allocations.class, "allocate", Map.of());
        benchmark.loop("copy and checksums of a chunk of 1 MiB", HotLoops.class, "hash", directory);
        benchmark.loop("save of 64 MiB, a chunk of 1 MiB", HotLoops.class, "saveChunks", directory);
        benchmark.loop("save of 10 000 tensors, a tensor", HotLoops.class, "saveTensors", directory);
        benchmark.loop("index of 10 000 tensors, a tensor", HotLoops.class, "encodeRows", directory);
        benchmark.loop("open .croft of 10 000 tensors, one element", HotLoops.class, "open", directory);
        benchmark.loop("open .safetensors of 10 000 tensors, one element", HotLoops.class, "header", directory);
        benchmark.loop("list .croft of 10 000 tensors, a tensor", HotLoops.class, "list", directory);
        for (String type : List.of("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
                "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS", "TQ1_0",
                "TQ2_0", "MXFP4", "NVFP4")) {
            benchmark.blocks(type);
        }
    }

    private void loop(String what, Class<?> type, String method, Map<String, String> parameters) throws IOException {
        TimeValue time = TimeValue.milliseconds(each.toMillis());
        RunResult result = run(options(type, method, parameters).warmupIterations(bench.rounds()).warmupTime(time)
                .measurementIterations(bench.rounds()).measurementTime(time).addProfiler(GCProfiler.class));
        bench.add(Figure.of(what, result.getPrimaryResult().getScore() * 1e6, "us"));
        bench.add(Figure.of(what + ": allocated", secondary(result, ALLOCATED), "B"));
        bench.add(Figure.of(what + ": allocated in a second", secondary(result, "gc.alloc.rate"), "MiB/s"));
    }

    /// Blocks of GGUF, decoded by one thread, by its processor time.
    private void blocks(String type) throws IOException {
        Timings timings = rounds.time(List.of(
                new Contender(OURS, () -> {
                    RunResult result = runOnce(StorageLoops.Blocks.class, "decode", Map.of("type", type), COMPILED);
                    return new Contender.Outcome(secondary(result, "seconds") / secondary(result, "times"), 0);
                }),
                bench.python().contender(GGUF, "dequantize", type, each.toMillis() / 1e3)));
        String what = "decode " + type;
        timings.contenders().forEach(contender -> bench.add(Figure.of(what + ": " + contender,
                timings.of(contender).map(s -> BLOCK_NUMBERS / s / 1e6), "M numbers/s")));
        bench.add(compared(GGUF, what, timings).atLeast(5));
    }

    private void copies(Geometry geometry) throws IOException {
        Timings timings = rounds.time(List.of(copying(OURS, "ours", geometry, "float32", "float32"),
                copying(PLAIN, "plain", geometry, "float32", "float32"),
                torch(TORCH, 0, geometry, "float32", "float32"),
                torch(TORCH_ONE_THREAD, 1, geometry, "float32", "float32")));
        String what = "copy, " + geometry.name().toLowerCase(Locale.ROOT);
        throughputs(what, timings);
        double traffic = geometry.traffic() / Geometry.CONTIGUOUS.traffic();
        bench.add(Figure.of(what + ": bytes moved compared with " + PLAIN,
                timings.speedup(OURS, PLAIN).map(speedup -> speedup * traffic), "x").atLeast(OF_BANDWIDTH));
        bench.add(compared(TORCH, what, timings));
        bench.add(compared(TORCH_ONE_THREAD, what, timings));
    }

    private void conversion(String from, String to) throws IOException {
        Geometry geometry = Geometry.CONTIGUOUS;
        Timings timings = rounds.time(List.of(copying(OURS, "ours", geometry, from, to),
                torch(TORCH, 0, geometry, from, to), torch(TORCH_ONE_THREAD, 1, geometry, from, to)));
        String what = from + " to " + to;
        bench.add(throughput(OURS, what, timings).atLeast(2));
        bench.add(throughput(TORCH, what, timings));
        bench.add(throughput(TORCH_ONE_THREAD, what, timings));
        bench.add(compared(TORCH, what, timings).atLeast(0.5));
        bench.add(compared(TORCH_ONE_THREAD, what, timings).atLeast(0.8));
    }

    private Contender copying(String name, String method, Geometry geometry, String from, String to) {
        return contender(name, StorageLoops.Copies.class, method, Map.of("geometry", geometry.name(), "from", from,
                "to", to, "nbytes", Long.toString(nbytes)));
    }

    private void fills() throws IOException {
        var parameters = Map.of("nbytes", Long.toString(nbytes));
        Timings timings = rounds.time(List.of(contender(OURS, StorageLoops.Fills.class, "ours", parameters),
                contender(PLAIN, StorageLoops.Fills.class, "plain", parameters)));
        throughputs("fill", timings);
        bench.add(compared(PLAIN, "fill", timings).atLeast(OF_BANDWIDTH));
    }

    private void elementAccess(String method, String plain, int dtypes) throws IOException {
        var parameters = Map.of("dtypes", Integer.toString(dtypes));
        Timings timings = rounds.time(List.of(contender(OURS, ElementLoops.class, method, parameters),
                contender(PLAIN, ElementLoops.class, plain, parameters)));
        String what = "element, " + method + (dtypes == 1 ? "" : ", of " + dtypes + " dtypes");
        for (String contender : timings.contenders()) {
            bench.add(Figure.of(what + ": " + contender, nanoseconds(timings.of(contender)), "ns"));
        }
        bench.add(Figure.of(what + ": time compared with " + PLAIN, timings.speedup(PLAIN, OURS), "x")
                .atMost(OF_ELEMENT_ACCESS));
    }

    private void views(String method) throws IOException {
        Samples seconds = rounds.time(List.of(contender(OURS, StorageLoops.Views.class, method, Map.of()))).of(OURS);
        // What one operation allocates once it is compiled.
        RunResult allocated = run(options(StorageLoops.Views.class, method, Map.of()).mode(Mode.SingleShotTime)
                .warmupBatchSize(OPERATIONS).warmupIterations(WARM_UPS).measurementBatchSize(OPERATIONS)
                .measurementIterations(1).addProfiler(ObjectCount.class).addProfiler(GCProfiler.class)
                .jvmArgsAppend(ROOM_FOR_GARBAGE));
        String what = "view, " + method;
        bench.add(Figure.of(what, nanoseconds(seconds), "ns").atMost(VIEW_NANOSECONDS));
        bench.add(Figure.of(what + ": objects allocated",
                Math.rint(secondary(allocated, ObjectCount.RESULT) / OPERATIONS), "").atMost(VIEW_OBJECTS));
        bench.add(Figure.of(what + ": bytes allocated", Math.rint(secondary(allocated, ALLOCATED) / OPERATIONS), "B"));
    }

    private static Samples nanoseconds(Samples seconds) {
        return seconds.map(s -> s * GIGA);
    }

    private Contender torch(String name, int threads, Geometry geometry, String from, String to) {
        return bench.python().contender(name, "copy", geometry.name(), from, to, nbytes, threads,
                each.toMillis() / 1e3);
    }

    private void throughputs(String what, Timings timings) {
        timings.contenders().forEach(contender -> bench.add(throughput(contender, what, timings)));
    }

    /// In gigabytes of input a second.
    private Figure throughput(String contender, String what, Timings timings) {
        return Figure.of(what + ": " + contender, timings.of(contender).map(s -> nbytes / s / GIGA), "GB/s");
    }

    private static Figure compared(String peer, String what, Timings timings) {
        return Figure.of(what + ": compared with " + peer, timings.speedup(OURS, peer), "x");
    }

    /// A method as a contender. Its seconds are those of one operation, on average.
    private Contender contender(String name, Class<?> type, String method, Map<String, String> parameters) {
        return new Contender(name, () -> new Contender.Outcome(
                runOnce(type, method, parameters, each).getPrimaryResult().getScore(), 0));
    }

    private RunResult runOnce(Class<?> type, String method, Map<String, String> parameters, Duration warmup)
            throws IOException {
        return run(options(type, method, parameters).warmupIterations(1)
                .warmupTime(TimeValue.milliseconds(warmup.toMillis()))
                .measurementIterations(1).measurementTime(TimeValue.milliseconds(each.toMillis())));
    }

    private static ChainedOptionsBuilder options(Class<?> type, String method, Map<String, String> parameters) {
        var options = new OptionsBuilder()
                .include("^" + Pattern.quote(type.getCanonicalName() + "." + method) + "$").forks(1)
                .verbosity(VerboseMode.SILENT).shouldFailOnError(true);
        parameters.forEach(options::param);
        return options;
    }

    private static RunResult run(ChainedOptionsBuilder options) throws IOException {
        try {
            return new Runner(options.build()).runSingle();
        } catch (RunnerException e) {
            for (Throwable failure : e.getSuppressed()) {
                failure.printStackTrace();
            }
            throw new IOException("JMH failed: " + e.getMessage(), e);
        }
    }

    private static double secondary(RunResult result, String name) {
        var found = result.getSecondaryResults().get(name);
        if (found == null) {
            throw new IllegalStateException("JMH reports " + result.getSecondaryResults().keySet() + ", not " + name);
        }
        return found.getScore();
    }
}
