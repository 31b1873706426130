package io.undercroft.benchmarks;

import io.undercroft.benchmarks.jmh.ElementLoops;
import io.undercroft.benchmarks.jmh.HotLoops;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// Time and allocation on the heap of operations that run very often: of each element, chunk, tensor or file. Measured
/// by JMH and its profiler of the garbage collector, each in a new JVM.
final class LoopsBenchmark {
    private final Bench bench;
    private final Jmh jmh;
    private final List<Figure> figures = new ArrayList<>();

    LoopsBenchmark(Bench bench) {
        this.bench = bench;
        this.jmh = new Jmh(Duration.ofMillis(bench.effort() == Effort.FULL ? 2000 : 300));
    }

    List<Figure> run() throws IOException {
        Map<String, String> oneDType = Map.of("dtypes", "1");
        Map<String, String> directory = Map.of("directory", bench.directory().toString());
        measure("an element by an accessor", ElementLoops.class, "accessor", oneDType);
        measure("an element of a matrix", ElementLoops.class, "matrix", oneDType);
        measure("copy and checksums of a chunk of 1 MiB", HotLoops.class, "hash", directory);
        measure("save of 64 MiB, a chunk of 1 MiB", HotLoops.class, "saveChunks", directory);
        measure("save of 10 000 tensors, a tensor", HotLoops.class, "saveTensors", directory);
        measure("index of 10 000 tensors, a tensor", HotLoops.class, "encodeRows", directory);
        measure("open .croft of 10 000 tensors, one element", HotLoops.class, "open", directory);
        measure("open .safetensors of 10 000 tensors, one element", HotLoops.class, "header", directory);
        measure("list .croft of 10 000 tensors, a tensor", HotLoops.class, "list", directory);
        return figures;
    }

    private void measure(String what, Class<?> type, String method, Map<String, String> parameters)
            throws IOException {
        Jmh.Rate rate = jmh.rate(type, method, parameters, bench.rounds());
        figures.add(Figure.of(what, rate.seconds() * 1e6, "us"));
        figures.add(Figure.of(what + ": allocated", rate.nbytes(), "B"));
        figures.add(Figure.of(what + ": allocated in a second", rate.mebibytes(), "MiB/s"));
    }
}
