package io.undercroft.samples.serve;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.OrtSession.SessionOptions;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.undercroft.adapters.OnnxSession;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Follower;
import io.undercroft.serializer.PublishedCheckpoint;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/// Answers requests on a loopback port with the newest published weights. A request and its answer are arrays of float,
/// little-endian; the header `Version` of the answer says which version gave it.
final class Worker implements AutoCloseable {
    static final int PIXELS = 64;

    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
    private final Path graph;
    private final Follower weights;
    private final ReentrantLock renewing = new ReentrantLock();
    /// Read while a request runs, written to replace the model.
    private final ReentrantReadWriteLock inUse = new ReentrantReadWriteLock();
    private Model model;

    /// A version of the model.
    private record Model(Checkpoint checkpoint, int version, OnnxSession session) {}

    private Worker(String name, Path graph) throws IOException, OrtException {
        this.graph = graph;
        this.weights = PublishedCheckpoint.follow(name);
        try (Follower.Lease lease = weights.lease()) {
            this.model = open(lease.checkpoint());
        }
    }

    /// Runs until the standard input ends. Prints the port.
    ///
    /// @param arguments the name of the published weights, and the ONNX file
    /// @throws Exception if the model cannot be opened or the port cannot be used
    public static void main(String... arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        try (Worker worker = new Worker(arguments[0], Path.of(arguments[1]));
                ExecutorService threads = Executors.newFixedThreadPool(4)) {
            server.setExecutor(threads);
            server.createContext("/", worker::answer);
            server.start();
            System.out.println(server.getAddress().getPort());
            while (System.in.read() >= 0) {
                // What comes is of no interest.
            }
            server.stop(0);
        }
    }

    /// The session holds the storages, so that neither the checkpoint nor a lease has to stay open.
    private Model open(Checkpoint checkpoint) throws IOException, OrtException {
        try (SessionOptions options = new SessionOptions()) {
            options.setIntraOpNumThreads(1);
            return new Model(checkpoint, checkpoint.value("version", Integer.class),
                OnnxSession.open(environment, graph, checkpoint.tensors(), options));
        }
    }

    /// Opens the newest version if there is one, in one thread, while the others answer with the former.
    private void renew() throws IOException, OrtException {
        if (renewing.tryLock()) {
            try (Follower.Lease lease = weights.lease()) {
                if (lease.checkpoint() != model.checkpoint) {
                    replace(open(lease.checkpoint()));
                }
            } finally {
                renewing.unlock();
            }
        }
    }

    private void replace(Model next) throws OrtException {
        inUse.writeLock().lock();
        try {
            model.session.close();
            model = next;
        } finally {
            inUse.writeLock().unlock();
        }
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            ByteBuffer request = ByteBuffer.wrap(exchange.getRequestBody().readAllBytes())
                    .order(ByteOrder.LITTLE_ENDIAN);
            renew();
            inUse.readLock().lock();
            try {
                byte[] scores = run(model.session.session(), request.asFloatBuffer());
                exchange.getResponseHeaders().add("Version", Integer.toString(model.version));
                exchange.sendResponseHeaders(200, scores.length);
                exchange.getResponseBody().write(scores);
            } finally {
                inUse.readLock().unlock();
            }
        } catch (OrtException | RuntimeException e) {
            throw new IOException("a request failed", e);
        }
    }

    private byte[] run(OrtSession session, FloatBuffer image) throws OrtException {
        try (OnnxTensor input = OnnxTensor.createTensor(environment, image, new long[]{1, PIXELS});
                OrtSession.Result result = session.run(Map.of("image", input))) {
            float[] scores = ((float[][]) result.get(0).getValue())[0];
            ByteBuffer bytes = ByteBuffer.allocate(scores.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            bytes.asFloatBuffer().put(scores);
            return bytes.array();
        }
    }

    @Override
    public void close() throws OrtException {
        model.session.close();
        weights.close();
    }
}
