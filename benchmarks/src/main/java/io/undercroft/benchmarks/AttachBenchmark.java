package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Published;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;

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
    private final List<Figure> figures = new ArrayList<>();

    AttachBenchmark(Bench bench) {
        this.bench = bench;
        this.workload = Workload.published(bench.effort());
    }

    List<Figure> run() throws IOException {
        bench.prepare(workload);
        bench.peers().ask("forget");
        try {
            publish();
            measureJvms();
        } finally {
            Published.unpublish(large);
            Published.unpublish(small);
        }
        measurePeers("torch.load(mmap=True)", "keep_torch_mmap", bench.file("model.pt"));
        measurePeers("safe_open", "keep_safe_open", bench.file("model.safetensors"));
        return figures;
    }

    private void publish() throws IOException {
        Map<String, Object> state = Map.of(SMALL_TENSOR, Tensor.ones(DType.FLOAT32, 8, 8));
        Published.publish(small, state, SaveOptions.defaults()).close();
        try (Checkpoint checkpoint = Checkpoint.open(bench.file("model.pt"))) {
            Published.publish(large, checkpoint).close();
        }
    }

    private void measureJvms() throws IOException {
        List<TalkingProcess> jvms = new ArrayList<>();
        try {
            for (int i = 0; i < PROCESSES; i++) {
                jvms.add(TalkingProcess.java(AttachPeer.class));
            }
            for (TalkingProcess jvm : jvms) {
                jvm.answer();
            }
            attach(jvms);
            read(jvms);
        } finally {
            jvms.forEach(TalkingProcess::close);
        }
    }

    private void attach(List<TalkingProcess> jvms) throws IOException {
        int rounds = bench.rounds();
        figures.add(Figure.of("the first attach of a JVM, small checkpoint",
                attach(jvms, small, SMALL_TENSOR, 1), "ms"));
        figures.add(Figure.of(workload.what() + ": attach for the first time after that",
                attach(jvms, large, workload.someName(), 1), "ms"));
        attach(jvms, small, SMALL_TENSOR, rounds);
        warm(attach(jvms, small, SMALL_TENSOR, rounds), "small checkpoint");
        warm(attach(jvms, large, workload.someName(), rounds), workload.what());
    }

    private void warm(Samples samples, String what) {
        figures.add(Figure.of(what + ": attach", samples, "ms").with(Goal.atMost(MILLISECONDS)));
        figures.add(Figure.of(what + ": attach, slowest", samples.quantile(1), "ms"));
    }

    private static Samples attach(List<TalkingProcess> jvms, String name, String tensor, int times)
            throws IOException {
        List<Double> millis = new ArrayList<>();
        for (TalkingProcess jvm : jvms) {
            jvm.say("attach " + name + " " + tensor + " " + times);
            Stream.of(jvm.answer().split(" ", -1)).map(Double::valueOf).forEach(millis::add);
        }
        return new Samples(millis);
    }

    private void read(List<TalkingProcess> jvms) throws IOException {
        List<Long> pids = jvms.stream().map(TalkingProcess::pid).toList();
        long before = Pss.of(pids);
        for (TalkingProcess jvm : jvms) {
            jvm.say("read " + large);
        }
        for (TalkingProcess jvm : jvms) {
            jvm.answer();
        }
        long after = Pss.of(pids);
        String what = workload.what() + ", read by " + PROCESSES + " JVMs: ";
        figures.add(copies(what + "PSS of its mappings", Pss.of(pids, large)).with(Goal.atMost(COPIES)));
        Figure growth = copies(what + "growth of PSS by attaching and reading", after - before);
        // A JVM that works grows by some MiB itself, which is much compared with a small checkpoint.
        figures.add(bench.effort() == Effort.FULL ? growth.with(Goal.atMost(COPIES)) : growth);
        figures.add(copies(what + "PSS of the processes, all in all", after));
        figures.add(Figure.of(what + "PSS of a process without it", before / 0x1p20 / PROCESSES, "MiB"));
    }

    private Figure copies(String what, long nbytes) {
        return Figure.of(what, (double) nbytes / workload.nbytes(), "copies");
    }

    private void measurePeers(String what, String request, Path file) throws IOException {
        List<Peers> peers = new ArrayList<>();
        try {
            for (int i = 0; i < PROCESSES; i++) {
                peers.add(bench.peers().another());
            }
            for (Peers peer : peers) {
                peer.ask("versions");
            }
            List<Long> pids = peers.stream().map(Peers::pid).toList();
            long before = Pss.of(pids);
            List<Double> millis = new ArrayList<>();
            for (Peers peer : peers) {
                millis.add(1e3 * Double.parseDouble(peer.ask(request, file).getFirst()));
            }
            String group = workload.what() + ", read by " + PROCESSES + " Pythons, " + what + ": ";
            figures.add(Figure.of(group + "opening all tensors", new Samples(millis), "ms"));
            figures.add(copies(group + "growth of PSS", Pss.of(pids) - before));
        } finally {
            peers.forEach(Peers::close);
        }
    }
}
