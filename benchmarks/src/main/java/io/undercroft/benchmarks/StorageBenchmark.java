package io.undercroft.benchmarks;

import io.undercroft.benchmarks.jmh.Conversions;
import io.undercroft.benchmarks.jmh.Copies;
import io.undercroft.benchmarks.jmh.ElementLoops;
import io.undercroft.benchmarks.jmh.Fills;
import io.undercroft.benchmarks.jmh.Geometry;
import io.undercroft.benchmarks.jmh.Views;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/// Storages and tensors in memory: copies, fills, conversions, single elements, views; measured by JMH next to
/// the JDK's own segments and compared with PyTorch.
final class StorageBenchmark {
    private static final String OURS = "undercroft";
    private static final String PLAIN = "MemorySegment";
    private static final String TORCH = "torch, its threads";
    private static final String TORCH_ONE_THREAD = "torch, one thread";
    private static final double OF_BANDWIDTH = 0.9;
    private static final double CONVERTED_GIGABYTES = 2;
    private static final double OF_TORCH = 0.5;
    private static final double OF_ONE_THREAD = 0.8;
    private static final double OF_ELEMENT_ACCESS = 1.2;
    private static final double VIEW_NANOSECONDS = 50;
    private static final double VIEW_OBJECTS = 2;
    private static final double GIGA = 1e9;

    private final Bench bench;
    private final Jmh jmh;
    private final Rounds rounds;
    private final long nbytes;
    private final List<Figure> figures = new ArrayList<>();

    StorageBenchmark(Bench bench) {
        boolean full = bench.effort() == Effort.FULL;
        this.bench = bench;
        this.jmh = new Jmh(Duration.ofMillis(full ? 1000 : 300));
        // JMH warms up itself.
        this.rounds = new Rounds(Duration.ZERO, bench.rounds());
        this.nbytes = full ? 256 << 20 : 64 << 20;
    }

    List<Figure> run() throws IOException {
        for (Geometry geometry : Geometry.values()) {
            copies(geometry);
        }
        fills();
        conversion("float32", "bfloat16");
        conversion("bfloat16", "float32");
        conversion("float32", "float16");
        conversion("float16", "float32");
        conversion("int32", "float32");
        conversion("float32", "int32");
        conversion("uint8", "float32");
        for (int dtypes : List.of(1, 6)) {
            elementAccess("accessor", "plainVector", dtypes);
            elementAccess("accessorMatrix", "plainMatrix", dtypes);
            elementAccess("accessorWrite", "plainWrite", dtypes);
            elementAccess("vector", "plainVector", dtypes);
            elementAccess("matrix", "plainMatrix", dtypes);
            elementAccess("storage", "plainVector", dtypes);
            elementAccess("write", "plainWrite", dtypes);
        }
        for (String view : List.of("select", "narrow", "transpose", "view")) {
            views(view);
        }
        return figures;
    }

    private void copies(Geometry geometry) throws IOException {
        var parameters = Map.of("geometry", geometry.name(), "nbytes", Long.toString(nbytes));
        Timings timings = rounds.time(List.of(jmh.contender(OURS, Copies.class, "ours", parameters),
                jmh.contender(PLAIN, Copies.class, "plain", parameters),
                torch(TORCH, 0, geometry, "float32", "float32"),
                torch(TORCH_ONE_THREAD, 1, geometry, "float32", "float32")));
        String what = "copy, " + geometry.name().toLowerCase(Locale.ROOT);
        throughputs(what, timings);
        double traffic = geometry.traffic() / Geometry.CONTIGUOUS.traffic();
        figures.add(Figure.of(what + ": bytes moved compared with " + PLAIN,
                timings.speedup(OURS, PLAIN).map(speedup -> speedup * traffic), "x").with(Goal.atLeast(OF_BANDWIDTH)));
        figures.add(compared(TORCH, what, timings));
        figures.add(compared(TORCH_ONE_THREAD, what, timings));
    }

    private void conversion(String from, String to) throws IOException {
        var parameters = Map.of("from", from, "to", to, "nbytes", Long.toString(nbytes));
        Timings timings = rounds.time(List.of(jmh.contender(OURS, Conversions.class, "ours", parameters),
                torch(TORCH, 0, Geometry.CONTIGUOUS, from, to),
                torch(TORCH_ONE_THREAD, 1, Geometry.CONTIGUOUS, from, to)));
        String what = from + " to " + to;
        figures.add(throughput(OURS, what, timings).with(Goal.atLeast(CONVERTED_GIGABYTES)));
        figures.add(throughput(TORCH, what, timings));
        figures.add(throughput(TORCH_ONE_THREAD, what, timings));
        figures.add(compared(TORCH, what, timings).with(Goal.atLeast(OF_TORCH)));
        figures.add(compared(TORCH_ONE_THREAD, what, timings).with(Goal.atLeast(OF_ONE_THREAD)));
    }

    private void fills() throws IOException {
        var parameters = Map.of("nbytes", Long.toString(nbytes));
        Timings timings = rounds.time(List.of(jmh.contender(OURS, Fills.class, "ours", parameters),
                jmh.contender(PLAIN, Fills.class, "plain", parameters)));
        throughputs("fill", timings);
        figures.add(compared(PLAIN, "fill", timings).with(Goal.atLeast(OF_BANDWIDTH)));
    }

    private void elementAccess(String method, String plain, int dtypes) throws IOException {
        var parameters = Map.of("dtypes", Integer.toString(dtypes));
        Timings timings = rounds.time(List.of(jmh.contender(OURS, ElementLoops.class, method, parameters),
                jmh.contender(PLAIN, ElementLoops.class, plain, parameters)));
        String what = "element, " + method + (dtypes == 1 ? "" : ", of " + dtypes + " dtypes");
        for (String contender : timings.contenders()) {
            figures.add(Figure.of(what + ": " + contender, nanoseconds(timings.of(contender)), "ns"));
        }
        figures.add(Figure.of(what + ": time compared with " + PLAIN, timings.speedup(PLAIN, OURS), "x")
                .with(Goal.atMost(OF_ELEMENT_ACCESS)));
    }

    private void views(String method) throws IOException {
        Samples seconds = rounds.time(List.of(jmh.contender(OURS, Views.class, method, Map.of()))).of(OURS);
        Jmh.Allocated allocated = jmh.allocated(Views.class, method);
        figures.add(Figure.of("view, " + method, nanoseconds(seconds), "ns").with(Goal.atMost(VIEW_NANOSECONDS)));
        figures.add(Figure.of("view, " + method + ": objects allocated", Math.rint(allocated.objects()), "")
                .with(Goal.atMost(VIEW_OBJECTS)));
        figures.add(Figure.of("view, " + method + ": bytes allocated", Math.rint(allocated.nbytes()), "B"));
    }

    private static Samples nanoseconds(Samples seconds) {
        return seconds.map(s -> s * GIGA);
    }

    private Contender torch(String name, int threads, Geometry geometry, String from, String to) {
        return bench.peers().contender(name, "copy", geometry.name(), from, to, nbytes, threads,
                jmh.each().toMillis() / 1e3);
    }

    private void throughputs(String what, Timings timings) {
        timings.contenders().forEach(contender -> figures.add(throughput(contender, what, timings)));
    }

    /// In gigabytes of input a second.
    private Figure throughput(String contender, String what, Timings timings) {
        return Figure.of(what + ": " + contender, timings.of(contender).map(s -> nbytes / s / GIGA), "GB/s");
    }

    private static Figure compared(String peer, String what, Timings timings) {
        return Figure.of(what + ": compared with " + peer, timings.speedup(OURS, peer), "x");
    }
}
