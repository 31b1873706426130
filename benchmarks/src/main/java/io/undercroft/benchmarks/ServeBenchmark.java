package io.undercroft.benchmarks;

import ai.onnxruntime.NodeInfo;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import ai.onnxruntime.TensorInfo;
import io.undercroft.adapters.OnnxSession;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Follower;
import io.undercroft.serializer.PublishedCheckpoint;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Four workers serve an ONNX model: JVMs with the weights of a published checkpoint, and JVMs and Pythons that open
/// the files of the model, or of the weights by safetensors and PyTorch. How much memory that takes, and how long it
/// takes until a worker has answered for the first time, and with the next version.
///
/// Workers start one after the other. Memory is counted as the proportional set size, as copies of the weights beyond
/// what the workers have when ONNX Runtime or PyTorch is loaded. The files are in the page cache, of which mapped pages
/// count.
final class ServeBenchmark {
    private static final int WORKERS = 4;
    private static final double COPIES = 1.1;
    private static final double START = 0.5;
    private static final double TOLERANCE = 1e-3;

    private final Bench bench;
    private final int layers;
    private final int size;
    private final Path script;
    private final Path model;
    private final Path whole;
    private final Path weights;
    private final List<Double> answers = new ArrayList<>();

    private ServeBenchmark(Bench bench) throws IOException {
        this.bench = bench;
        this.layers = bench.choose(16, 8);
        this.size = bench.choose(4096, 1024);
        this.script = Peer.resource("serve_peer.py", bench.directory());
        this.model = bench.file("model.onnx");
        this.whole = bench.file("whole.onnx");
        this.weights = bench.file("weights.safetensors");
    }

    static void run(Bench bench) throws IOException {
        new ServeBenchmark(bench).measure();
    }

    private Peer python(String... arguments) throws IOException {
        return new Peer(Stream.concat(Stream.of(bench.python().program(), script.toString()), Stream.of(arguments))
                .toList(), Map.of());
    }

    private void measure() throws IOException {
        try (Peer maker = python()) {
            maker.ask("make", bench.directory(), layers, size);
        }
        bench.python().ask("settle");
        String name = "undercroft-serve-" + UUID.randomUUID();
        Samples ours;
        try {
            publish(name);
            ours = measure("JVMs, published checkpoint", () -> Peer.jvm(Worker.class), () -> publish(name), "serve",
                    name, model);
        } finally {
            PublishedCheckpoint.unpublish(name);
        }
        String loading = "JVMs, file with the weights";
        Samples theirs = measure(loading, () -> Peer.jvm(Worker.class), () -> {}, "session", whole, true);
        bench.add(Figure.of("a worker is ready: published checkpoint / file with the weights",
                ours.median() / theirs.median(), "x").atMost(START));
        measure("JVMs, external data, not prepacked", () -> Peer.jvm(Worker.class), () -> {}, "session", model, false);
        measure("Pythons, file with the weights", () -> python(), () -> {}, "session", whole, true);
        measure("Pythons, external data, not prepacked", () -> python(), () -> {}, "session", model, false);
        measure("Pythons with PyTorch, safe_open", () -> python("torch"), () -> {}, "mapped", weights, layers);
        for (double answer : answers) {
            if (Math.abs(answer - answers.getFirst()) > TOLERANCE) {
                throw new IOException("workers answer different things: " + answers);
            }
        }
    }

    private void publish(String name) throws IOException {
        long start = System.nanoTime();
        try (Checkpoint checkpoint = Checkpoint.open(weights)) {
            PublishedCheckpoint.publish(name, checkpoint).close();
        }
        bench.add(Figure.of("publish a version", millisSince(start), "ms"));
    }

    /// Returns how many milliseconds each worker took from its start to its first answer.
    private Samples measure(String what, Peer.Group.Starting starting, Contender.Work renewing, Object... request)
            throws IOException {
        List<Peer.Group> workers = new ArrayList<>();
        List<Double> ready = new ArrayList<>();
        List<Double> renewed = new ArrayList<>();
        long nbytes = (long) layers * size * size * Float.BYTES;
        try {
            for (int i = 0; i < WORKERS; i++) {
                long start = System.nanoTime();
                workers.add(new Peer.Group(1, starting));
                ready.add(millisSince(start));
            }
            List<Long> pids = workers.stream().flatMap(worker -> worker.pids().stream()).toList();
            long before = ProcessMemory.proportional(pids);
            for (int i = 0; i < WORKERS; i++) {
                ready.set(i, ready.get(i) + ask(workers.get(i), request));
            }
            long after = ProcessMemory.proportional(pids);
            bench.add(copies(what + ": PSS beyond that of the runtime", after - before, nbytes,
                    request[0].equals("serve")));
            bench.add(Figure.of(what + ": PSS of a worker, all in all", after / 0x1p20 / WORKERS, "MiB"));
            bench.add(Figure.of(what + ": from the start to the first answer", new Samples(ready), "ms"));
            renewing.run();
            // A session on files that is opened in place of another one takes the memory of both: one worker is enough.
            boolean isShared = request[0].equals("serve");
            for (Peer.Group worker : isShared ? workers : workers.subList(0, 1)) {
                renewed.add(ask(worker, request));
            }
            bench.add(Figure.of(what + ": to the first answer with another version", new Samples(renewed), "ms"));
            if (isShared) {
                bench.add(copies(what + ": PSS after that", ProcessMemory.proportional(pids) - before, nbytes, true));
            }
        } finally {
            workers.forEach(Peer.Group::close);
        }
        return new Samples(ready);
    }

    private double ask(Peer.Group worker, Object... request) throws IOException {
        long start = System.nanoTime();
        String answer = worker.ask(request).getFirst().getFirst();
        double millis = millisSince(start);
        answers.add(Double.parseDouble(answer));
        return millis;
    }

    private Figure copies(String what, long pss, long nbytes, boolean hasTarget) {
        Figure figure = Figure.of(what, (double) pss / nbytes, "copies");
        return hasTarget && bench.isFull() ? figure.atMost(COPIES) : figure;
    }

    private static double millisSince(long start) {
        return (System.nanoTime() - start) / 1e6;
    }

    /// A JVM that serves a model, with the requests of `serve_peer.py` and one more:
    ///
    /// - `versions`: that of ONNX Runtime, which is loaded then;
    /// - `serve NAME MODEL`: an element of the answer with the newest published weights;
    /// - `session MODEL PREPACKS`: the same with the weights of the files of the model.
    static final class Worker {
        private static @Nullable Follower follower;
        private static @Nullable AutoCloseable former;

        private Worker() {}

        /// Runs until its input ends.
        ///
        /// @param arguments none
        /// @throws Exception if a model cannot be opened
        public static void main(String... arguments) throws Exception {
            OrtEnvironment environment = OrtEnvironment.getEnvironment();
            try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    String[] request = line.split("\t", -1);
                    System.out.println("ok\t" + switch (request[0]) {
                        case "serve" -> serve(environment, request[1], Path.of(request[2]));
                        case "session" -> session(environment, request[1], Boolean.parseBoolean(request[2]));
                        default -> environment.getVersion();
                    });
                }
            }
        }

        private static String serve(OrtEnvironment environment, String name, Path model) throws Exception {
            if (follower == null) {
                follower = PublishedCheckpoint.follow(name);
            }
            try (Follower.Lease lease = follower.lease(); SessionOptions options = new SessionOptions()) {
                options.setIntraOpNumThreads(1);
                OnnxSession session = OnnxSession.open(environment, model, lease.checkpoint().tensors(), options);
                return run(environment, session, session.session());
            }
        }

        private static String session(OrtEnvironment environment, String model, boolean prepacks) throws Exception {
            try (SessionOptions options = new SessionOptions()) {
                options.setIntraOpNumThreads(1);
                options.addConfigEntry("session.disable_prepacking", prepacks ? "0" : "1");
                OrtSession session = environment.createSession(model, options);
                return run(environment, session, session);
            }
        }

        /// Runs a model once, in place of the former one.
        private static String run(OrtEnvironment environment, AutoCloseable opened, OrtSession session)
                throws Exception {
            if (former != null) {
                former.close();
            }
            former = opened;
            NodeInfo input = session.getInputInfo().values().iterator().next();
            float[][] ones = new float[1][(int) ((TensorInfo) input.getInfo()).getShape()[1]];
            Arrays.fill(ones[0], 1);
            try (OnnxTensor x = OnnxTensor.createTensor(environment, ones);
                    OrtSession.Result y = session.run(Map.of("x0", x))) {
                return Float.toString(((float[][]) y.get(0).getValue())[0][0]);
            }
        }
    }
}
