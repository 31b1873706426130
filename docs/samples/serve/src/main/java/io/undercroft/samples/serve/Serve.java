package io.undercroft.samples.serve;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.PublishedCheckpoint;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/// Publishes the weights of a model, starts workers that serve it, and publishes new versions while requests run. Each
/// answer is compared with that of a session that loads the model from its files. At the end prints how many requests
/// each worker answered, and what memory it uses.
public final class Serve {
    private static final int VERSIONS = 3;
    /// The answers with each version that each worker has to give before the next one is published.
    private static final int ANSWERS = 100;
    private static final float TOLERANCE = 1e-4f;

    private final HttpClient client = HttpClient.newHttpClient();
    private final float[] image = new float[Worker.PIXELS];
    private final float[] expected;
    private volatile boolean isOver;

    private Serve(Path model) throws OrtException {
        for (int i = 0; i < image.length; i++) {
            image[i] = i % 8 / 8f;
        }
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        try (OrtSession session = environment.createSession(model.toString());
                OnnxTensor input = OnnxTensor.createTensor(environment, new float[][]{image});
                OrtSession.Result result = session.run(Map.of("image", input))) {
            expected = ((float[][]) result.get(0).getValue())[0];
        }
    }

    /// Runs the sample.
    ///
    /// @param arguments the directory with `model.onnx` and `weights.safetensors`, and the number of workers
    /// @throws Exception if a request failed or an answer is wrong
    public static void main(String... arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        Path model = folder.resolve("model.onnx");
        String name = "undercroft-serve-" + ProcessHandle.current().pid();
        List<WorkerProcess> workers = new ArrayList<>();
        try (Checkpoint weights = Checkpoint.open(folder.resolve("weights.safetensors"))) {
            publish(name, weights, 1);
            for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
                workers.add(new WorkerProcess(name, model));
            }
            new Serve(model).run(name, weights, workers);
        } finally {
            workers.forEach(WorkerProcess::close);
            PublishedCheckpoint.unpublish(name);
        }
    }

    /// Publishes a version of the weights, with which the scores are 2^(version-1) times those of the first.
    private static void publish(String name, Checkpoint weights, int version) throws IOException {
        Map<String, Object> state = new LinkedHashMap<>(weights.tensors());
        for (String last : List.of("classes.weight", "classes.bias")) {
            Tensor tensor = weights.tensor(last).copy();
            Tensor elements = tensor.view(tensor.numel());
            for (long i = 0; i < tensor.numel(); i++) {
                elements.setDouble(i, Math.scalb(elements.getFloat(i), version - 1));
            }
            state.put(last, tensor);
        }
        state.put("version", version);
        PublishedCheckpoint.publish(name, state).close();
    }

    private void run(String name, Checkpoint weights, List<WorkerProcess> workers) throws Exception {
        List<Thread> clients = workers.stream().flatMap(worker -> Stream.of(worker, worker))
                .map(worker -> Thread.ofPlatform().start(() -> ask(worker))).toList();
        for (int version = 1; version <= VERSIONS; version++) {
            if (version > 1) {
                publish(name, weights, version);
            }
            for (WorkerProcess worker : workers) {
                worker.remaining.get(version - 1).await();
            }
        }
        isOver = true;
        for (Thread thread : clients) {
            thread.join();
        }
        for (WorkerProcess worker : workers) {
            System.out.println(worker.report(name));
        }
        if (workers.stream().anyMatch(worker -> worker.failures.get() > 0)) {
            throw new IllegalStateException("requests failed");
        }
    }

    /// Sends requests to a worker, one after the other.
    private void ask(WorkerProcess worker) {
        ByteBuffer body = ByteBuffer.allocate(image.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        body.asFloatBuffer().put(image);
        HttpRequest request = HttpRequest.newBuilder(worker.address)
                .POST(HttpRequest.BodyPublishers.ofByteArray(body.array())).build();
        while (!isOver) {
            try {
                HttpResponse<byte[]> response = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
                int version = response.headers().firstValue("Version").map(Integer::parseInt).orElseThrow();
                checkScores(ByteBuffer.wrap(response.body()).order(ByteOrder.LITTLE_ENDIAN), version);
                worker.answers.get(version - 1).incrementAndGet();
                worker.remaining.get(version - 1).countDown();
            } catch (IOException | InterruptedException | RuntimeException e) {
                e.printStackTrace();
                worker.fail();
                return;
            }
        }
    }

    private void checkScores(ByteBuffer scores, int version) {
        for (float score : expected) {
            float answer = Math.scalb(scores.getFloat(), 1 - version);
            if (Math.abs(answer - score) > TOLERANCE) {
                throw new IllegalStateException(answer + " instead of " + score + " with version " + version);
            }
        }
    }

    /// A worker, and the answers that it gave.
    private static final class WorkerProcess implements AutoCloseable {
        private final Process process;
        private final URI address;
        private final AtomicLong failures = new AtomicLong();
        /// For each version.
        private final List<AtomicLong> answers = Stream.generate(AtomicLong::new).limit(VERSIONS).toList();
        private final List<CountDownLatch> remaining = IntStream.range(0, VERSIONS)
                .mapToObj(_ -> new CountDownLatch(ANSWERS)).toList();

        WorkerProcess(String name, Path model) throws IOException {
            ProcessBuilder java = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "--enable-native-access=ALL-UNNAMED", "-Xmx64m", "-XX:+UseSerialGC",
                    "-Dsun.net.httpserver.nodelay=true", Worker.class.getName(), name,
                    model.toString()).redirectError(ProcessBuilder.Redirect.INHERIT);
            java.environment().put("CLASSPATH", System.getProperty("java.class.path"));
            // With telemetry, ONNX Runtime 1.29.0 crashes if the command line of the process is long.
            java.environment().put("ORT_DISABLE_TELEMETRY", "1");
            process = java.start();
            address = URI.create("http://localhost:" + process.inputReader().readLine());
        }

        /// Counts a failure, and lets nobody wait for answers.
        void fail() {
            failures.incrementAndGet();
            remaining.forEach(latch -> LongStream.range(0, latch.getCount()).forEach(_ -> latch.countDown()));
        }

        /// Describes the answers and the memory. The proportional set size (PSS) counts a page that n processes have
        /// as 1/n.
        String report(String name) throws IOException {
            Path proc = Path.of("/proc", Long.toString(process.pid()));
            long former;
            try (Stream<String> mappings = Files.lines(proc.resolve("maps"))) {
                former = mappings.filter(line -> line.contains(name) && line.endsWith("(deleted)")).count();
            }
            try (Stream<String> sizes = Files.lines(proc.resolve("smaps_rollup"))) {
                String pss = sizes.filter(line -> line.startsWith("Pss:")).findFirst().orElseThrow();
                return "worker " + process.pid() + ": answers " + answers + ", failures " + failures + ", PSS "
                        + pss.replaceAll("\\D", "") + " kB, mappings of former versions " + former;
            }
        }

        /// Ends the input of the worker, at which it stops.
        @Override
        public void close() {
            try {
                process.outputWriter().close();
                process.waitFor();
            } catch (IOException | InterruptedException _) {
                process.destroyForcibly();
            }
        }
    }
}
