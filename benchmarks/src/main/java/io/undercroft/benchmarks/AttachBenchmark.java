package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.PublishedCheckpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/// Eight JVMs attach to one published checkpoint and read every byte of it: how much memory that takes altogether, and
/// how long an attach takes. Besides them as many Python processes with the same checkpoint as a file, mapped.
///
/// An attach is timed from the name to one element of one tensor, in one JVM after the other while the rest are idle.
/// The first of a JVM loads classes; it is of a small checkpoint, so that what comes after shows the size alone. Memory
/// is counted as the proportional set size: a page that several processes have counts for each by its share.
final class AttachBenchmark {
    private static final int PROCESSES = 8;
    private static final double COPIES = 1.05;
    private static final double MILLISECONDS = 2;
    private static final String SMALL_TENSOR = "tensor";

    private final Bench bench;
    private final Workload workload;
    private final String large = "undercroft-attach-" + UUID.randomUUID();
    private final String small = large + "-small";

    private AttachBenchmark(Bench bench) {
        this.bench = bench;
        this.workload = bench.choose(new Workload("2 GiB in 512 tensors", 512, 1024, 1024),
                new Workload("128 MiB in 512 tensors", 512, 256, 256));
    }

    static void run(Bench bench) throws IOException {
        new AttachBenchmark(bench).measure();
    }

    private void measure() throws IOException {
        bench.prepare(workload);
        bench.python().ask("forget");
        try {
            PublishedCheckpoint
                    .publish(small, Map.of(SMALL_TENSOR, Tensor.ones(DType.FLOAT32, 8, 8)), SaveOptions.defaults())
                    .close();
            try (Checkpoint checkpoint = Checkpoint.open(bench.pt())) {
                PublishedCheckpoint.publish(large, checkpoint).close();
            }
            try (Peer.Group jvms = new Peer.Group(PROCESSES, Peer::jvm)) {
                attach(jvms);
                read(jvms);
            }
        } finally {
            PublishedCheckpoint.unpublish(large);
            PublishedCheckpoint.unpublish(small);
        }
        measurePython("torch.load(mmap=True)", "keep_torch_mmap", bench.pt());
        measurePython("safe_open", "keep_safe_open", bench.safetensors());
    }

    private void attach(Peer.Group jvms) throws IOException {
        int rounds = bench.rounds();
        bench.add(Figure.of("the first attach of a JVM, small checkpoint",
                attach(jvms, small, SMALL_TENSOR, 1), "ms"));
        bench.add(Figure.of(workload.what() + ": attach for the first time after that",
                attach(jvms, large, workload.someName(), 1), "ms"));
        attach(jvms, small, SMALL_TENSOR, rounds);
        warm(attach(jvms, small, SMALL_TENSOR, rounds), "small checkpoint");
        warm(attach(jvms, large, workload.someName(), rounds), workload.what());
    }

    private void warm(Samples samples, String what) {
        bench.add(Figure.of(what + ": attach", samples, "ms").atMost(MILLISECONDS));
        bench.add(Figure.of(what + ": attach, slowest", samples.quantile(1), "ms"));
    }

    private static Samples attach(Peer.Group jvms, String name, String tensor, int times) throws IOException {
        return new Samples(jvms.ask("attach", name, tensor, times).stream().flatMap(List::stream).map(Double::valueOf)
                .toList());
    }

    private void read(Peer.Group jvms) throws IOException {
        List<Long> pids = jvms.pids();
        long before = ProcessMemory.proportional(pids);
        jvms.ask("read", large);
        long after = ProcessMemory.proportional(pids);
        String what = workload.what() + ", read by " + PROCESSES + " JVMs: ";
        bench.add(copies(what + "PSS of its mappings", ProcessMemory.proportional(pids, large)).atMost(COPIES));
        Figure growth = copies(what + "growth of PSS by attaching and reading", after - before);
        // A JVM that works grows by some MiB itself, which is much compared with a small checkpoint.
        bench.add(bench.isFull() ? growth.atMost(COPIES) : growth);
        bench.add(copies(what + "PSS of the processes, all in all", after));
        bench.add(Figure.of(what + "PSS of a process without it", before / 0x1p20 / PROCESSES, "MiB"));
    }

    private Figure copies(String what, long nbytes) {
        return Figure.of(what, (double) nbytes / workload.nbytes(), "copies");
    }

    private void measurePython(String what, String request, Path file) throws IOException {
        try (Peer.Group pythons = new Peer.Group(PROCESSES, bench.python()::another)) {
            long before = ProcessMemory.proportional(pythons.pids());
            List<Double> millis = pythons.ask(request, file).stream()
                    .map(reply -> 1e3 * Double.parseDouble(reply.getFirst())).toList();
            String group = workload.what() + ", read by " + PROCESSES + " Pythons, " + what + ": ";
            bench.add(Figure.of(group + "opening all tensors", new Samples(millis), "ms"));
            bench.add(copies(group + "growth of PSS", ProcessMemory.proportional(pythons.pids()) - before));
        }
    }
}
