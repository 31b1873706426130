package io.undercroft.benchmarks;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.undercroft.hadoop.HadoopFiles;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.gaul.s3proxy.AuthenticationType;
import org.gaul.s3proxy.S3Proxy;
import org.jclouds.ContextBuilder;
import org.jclouds.blobstore.BlobStore;
import org.jclouds.blobstore.BlobStoreContext;
import org.jclouds.blobstore.domain.Blob;
import org.jclouds.blobstore.options.GetOptions;
import org.jclouds.blobstore.util.ForwardingBlobStore;

/// Files in HDFS, in an S3 endpoint and on a web server, all on this machine: one tensor, counted by the store; all
/// tensors, compared with the plain client of the store, which reads the file into the same kind of memory with as many
/// threads. `benchmarks/run remote` starts it.
final class RemoteBenchmark {
    private static final int MOST_READS = 3;
    private static final double MOST_BYTES = 1.1;
    private static final double RATE = 0.8;
    private static final int ROUNDS = 5;
    /// Servers and clients share the processors with the compiler of the JVM.
    private static final Duration WARM_UP = Duration.ofSeconds(5);
    private static final int PIECE = 1 << 20;
    /// The number of requests at a time of a load, and of threads of the plain client.
    private static final int AT_ONCE = 6;
    private static final String PASSWORD = "changeit";

    private final Path scratch;
    private final Workload workload;
    private final AtomicLong reads = new AtomicLong();
    private final AtomicLong bytes = new AtomicLong();
    private final List<Figure> figures;

    private RemoteBenchmark(Path scratch, Workload workload, List<Figure> figures) {
        this.scratch = scratch;
        this.workload = workload;
        this.figures = figures;
    }

    /// Runs the benchmark and prints its report.
    ///
    /// @param arguments the directory for its files, `remote`, and perhaps `--quick`, and `--case` with `hdfs`, `s3` or
    ///     `https`
    public static void main(String... arguments) throws Exception {
        List<String> all = List.of(arguments);
        Path directory = Path.of(arguments[0]);
        Set<String> stores = all.contains("--case")
                ? Set.of(all.get(all.indexOf("--case") + 1))
                : Set.of("hdfs", "s3", "https");
        // 1 GiB, and tensors of 256 KiB.
        List<Workload> workloads = all.contains("--quick")
                ? List.of(Workload.QUICK_LARGE)
                : List.of(Workload.LARGE, Workload.QUICK_LARGE);
        Files.createDirectories(directory);
        Path scratch = Files.createTempDirectory(directory, "bench-");
        List<Figure> figures = new ArrayList<>();
        try {
            // First, since the JVM reads once which certificates it trusts.
            SSLContext certificate = certificate(scratch);
            for (Workload workload : workloads) {
                RemoteBenchmark benchmark = new RemoteBenchmark(Files.createTempDirectory(scratch, "files-"), workload,
                        figures);
                if (stores.contains("hdfs")) {
                    benchmark.hdfs();
                }
                if (stores.contains("s3")) {
                    benchmark.s3();
                }
                if (stores.contains("https")) {
                    benchmark.https(certificate);
                }
            }
            new Report("remote", figures, Environment.of(directory)).print(System.out);
        } finally {
            try (Stream<Path> files = Files.walk(scratch)) {
                files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(java.io.File::delete);
            }
        }
        // Clients and servers have threads that do not end.
        System.exit(0);
    }

    private Map<String, Tensor> state() {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < workload.count(); i++) {
            state.put(workload.name(i), Tensor.full(DType.FLOAT32, i + 1, workload.rows(), workload.columns()));
        }
        return state;
    }

    /// Opens a file at an offset with the plain client of its store.
    private interface Plain {
        InputStream open(long offset, long length) throws IOException;
    }

    /// Makes a plain client, which has read nothing of the file before: the default streams of S3A keep bytes in memory
    /// for later reads by the same file system.
    private interface PlainClient {
        Plain connect(Opened opened) throws IOException;
    }

    /// What is closed after the file was read.
    private static final class Opened implements AutoCloseable {
        private final List<Closeable> all = new ArrayList<>();

        FileSystem fileSystem(URI uri, Configuration configuration) throws IOException {
            FileSystem fs = FileSystem.newInstance(uri, configuration);
            all.add(fs);
            return fs;
        }

        @Override
        public void close() throws IOException {
            for (Closeable each : all) {
                each.close();
            }
        }
    }

    /// Opens a file whose reads are counted.
    private interface Opening {
        Checkpoint open(OpenOptions options) throws IOException;
    }

    private void compare(String name, URI uri, OpenOptions options, Opening opening, long size, PlainClient client)
            throws IOException {
        String store = name + ", " + workload.what();
        OpenOptions here = options.temporaryDirectory(scratch);
        long tensor = workload.nbytes() / workload.count();
        long index = size - workload.nbytes();
        try (Checkpoint warm = Checkpoint.open(uri, here)) {
            warm.tensor(workload.name(0)).getDouble(0, 0);
        }
        reads.set(0);
        bytes.set(0);
        try (Checkpoint opened = opening.open(here)) {
            opened.tensor(workload.someName()).getDouble(1, 3);
        }
        figures.add(Figure.count(store + ": reads for one tensor", reads.get())
                .atMost(MOST_READS));
        figures.add(Figure.of(store + ": bytes for one tensor, compared with those of it and the index",
                (double) bytes.get() / (tensor + index), "x").atMost(MOST_BYTES));
        Timings timings = new Rounds(WARM_UP, ROUNDS).time(List.of(
                new Contender(store + ": load all into memory", () -> timed(() -> {
                    try (Checkpoint opened = Checkpoint.open(uri, here.inMemory())) {
                        return opened.storages().size();
                    }
                })), new Contender(store + ": the plain client reads the file", () -> timed(() -> {
                    try (Opened opened = new Opened()) {
                        read(client.connect(opened), size);
                    }
                    return workload.count();
                }))));
        timings.contenders().forEach(each -> figures.add(timings.rate(workload, each)));
        figures.add(Figure.of(store + ": loading compared with the plain client",
                timings.speedup(store + ": load all into memory", store + ": the plain client reads the file"), "x")
                .atLeast(RATE));
    }

    /// Reads a file into memory, each thread a part of it.
    private static void read(Plain plain, long size) throws IOException {
        Storage memory = Storage.allocate(size, AnonymousMemory.allocator());
        long share = (size + AT_ONCE - 1) / AT_ONCE;
        try (ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE)) {
            List<Future<?>> parts = new ArrayList<>();
            for (long start = 0; start < size; start += share) {
                MemorySegment part = memory.segment().asSlice(start, Math.min(share, size - start));
                long offset = start;
                parts.add(threads.submit(() -> {
                    try (InputStream in = plain.open(offset, part.byteSize())) {
                        byte[] piece = new byte[PIECE];
                        for (long done = 0; done < part.byteSize();) {
                            int count = in.read(piece, 0, (int) Math.min(PIECE, part.byteSize() - done));
                            if (count < 0) {
                                throw new EOFException("it ends at byte " + (offset + done));
                            }
                            MemorySegment.copy(piece, 0, part, ValueLayout.JAVA_BYTE, done, count);
                            done += count;
                        }
                    }
                    return part;
                }));
            }
            for (Future<?> part : parts) {
                part.get();
            }
        } catch (InterruptedException | ExecutionException e) {
            throw new IOException(e);
        } finally {
            memory.release();
        }
    }

    /// {@return a source that counts what is read of another one}
    private RangeSource counted(RangeSource source) {
        return (RangeSource) Proxy.newProxyInstance(RangeSource.class.getClassLoader(),
                new Class<?>[]{RangeSource.class},
                (_, method, arguments) -> {
                    try {
                        Object result = method.invoke(source, arguments);
                        MemorySegment read = method.getName().equals("read")
                                ? (MemorySegment) arguments[1]
                                : result instanceof MemorySegment start ? start : MemorySegment.NULL;
                        if (read.byteSize() > 0) {
                            reads.incrementAndGet();
                            bytes.addAndGet(read.byteSize());
                        }
                        return result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private interface Action {
        double run() throws IOException;
    }

    private static Contender.Outcome timed(Action action) throws IOException {
        long start = System.nanoTime();
        double witness = action.run();
        return new Contender.Outcome((System.nanoTime() - start) / 1e9, witness);
    }

    private static PlainClient hadoop(URI uri, Configuration configuration) {
        return opened -> {
            FileSystem fs = opened.fileSystem(uri, configuration);
            return (offset, _) -> open(fs, uri, offset);
        };
    }

    private static InputStream open(FileSystem fs, URI uri, long offset) throws IOException {
        FSDataInputStream in = fs.open(new org.apache.hadoop.fs.Path(uri));
        in.seek(offset);
        return in;
    }

    private void hdfs() throws IOException {
        Configuration configuration = new Configuration();
        configuration.set("hdfs.minidfs.basedir", scratch.resolve("hdfs").toString());
        try (MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration).numDataNodes(2).build()) {
            cluster.waitActive();
            FileSystem fs = cluster.getFileSystem();
            URI uri = URI.create(cluster.getURI() + "/model.croft");
            long size = save(uri, SaveOptions.defaults());
            compare("HDFS", uri, OpenOptions.defaults(),
                    with -> Checkpoint.open(counted(HadoopFiles.source(fs, new org.apache.hadoop.fs.Path(uri))), with),
                    size, hadoop(uri, configuration));
        }
    }

    private long save(URI uri, SaveOptions options) throws IOException {
        return Checkpoint.save(uri, state(), options.sharing(SaveOptions.Sharing.IDENTITY)).nbytes();
    }

    private void s3() throws Exception {
        Properties properties = new Properties();
        properties.setProperty("jclouds.filesystem.basedir", Files.createDirectory(scratch.resolve("s3")).toString());
        BlobStore store = ContextBuilder.newBuilder("filesystem-nio2").overrides(properties)
                .credentials("local", "local").build(BlobStoreContext.class).getBlobStore();
        store.createContainerInLocation(null, "models");
        S3Proxy server = S3Proxy.builder().blobStore(new ForwardingBlobStore(store) {
            @Override
            public Blob getBlob(String bucket, String name, GetOptions options) {
                Blob blob = super.getBlob(bucket, name, options);
                reads.incrementAndGet();
                bytes.addAndGet(blob.getMetadata().getContentMetadata().getContentLength());
                return blob;
            }
        }).endpoint(URI.create("http://127.0.0.1:0"))
                .awsAuthentication(AuthenticationType.AWS_V2_OR_V4, "user", "secret")
                .build();
        server.start();
        Configuration configuration = new Configuration(false);
        configuration.set("fs.s3a.endpoint", "http://127.0.0.1:" + server.getPort());
        configuration.set("fs.s3a.endpoint.region", "us-east-1");
        configuration.set("fs.s3a.path.style.access", "true");
        configuration.set("fs.s3a.access.key", "user");
        configuration.set("fs.s3a.secret.key", "secret");
        configuration.set("fs.s3a.fast.upload.buffer", "array");
        Path file = scratch.resolve("s3.xml");
        try (OutputStream out = Files.newOutputStream(file)) {
            configuration.writeXml(out);
        }
        URI uri = URI.create("s3a://models/model.croft");
        long size = save(uri, SaveOptions.defaults().setting("hadoop.conf", file.toString()));
        Configuration plain = new Configuration();
        configuration.forEach(entry -> plain.set(entry.getKey(), entry.getValue()));
        compare("S3", uri, OpenOptions.defaults().setting("hadoop.conf", file.toString()),
                with -> Checkpoint.open(uri, with), size, hadoop(uri, plain));
        server.stop();
    }

    private void https(SSLContext certificate) throws Exception {
        Path file = scratch.resolve("model.croft");
        Checkpoint.save(file, state(), SaveOptions.defaults().sharing(SaveOptions.Sharing.IDENTITY));
        HttpsServer server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setHttpsConfigurator(new HttpsConfigurator(certificate));
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", exchange -> serve(exchange, file));
        server.start();
        URI uri = URI.create("https://localhost:" + server.getAddress().getPort() + "/model.croft");
        try (HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
            compare("https", uri, OpenOptions.defaults(), with -> Checkpoint.open(uri, with), Files.size(file),
                    _ -> (offset, length) -> {
                        HttpRequest request = HttpRequest.newBuilder(uri)
                                .header("Range", "bytes=" + offset + "-" + (offset + length - 1)).build();
                        try {
                            return client.send(request, BodyHandlers.ofInputStream()).body();
                        } catch (InterruptedException e) {
                            throw new IOException(e);
                        }
                    });
        }
        server.stop(0);
    }

    /// Makes a certificate that this JVM trusts.
    private static SSLContext certificate(Path scratch)
            throws IOException, GeneralSecurityException, InterruptedException {
        Path store = scratch.resolve("keys.p12");
        Process keytool = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair", "-alias", "localhost", "-keyalg", "EC", "-dname", "CN=localhost", "-ext",
                "san=dns:localhost", "-storetype", "PKCS12", "-storepass", PASSWORD, "-keystore", store.toString())
                .inheritIO().start();
        if (keytool.waitFor() != 0) {
            throw new IOException("keytool failed");
        }
        System.setProperty("javax.net.ssl.trustStore", store.toString());
        System.setProperty("javax.net.ssl.trustStorePassword", PASSWORD);
        KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(keys, PASSWORD.toCharArray());
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(factory.getKeyManagers(), null, null);
        return context;
    }

    private void serve(HttpExchange exchange, Path file) throws IOException {
        long size = Files.size(file);
        String range = exchange.getRequestHeaders().getFirst("Range");
        long first = 0;
        long end = size;
        if (range != null) {
            Matcher wanted = Pattern.compile("bytes=(\\d+)-(\\d+)").matcher(range);
            if (!wanted.matches()) {
                throw new IOException("no such range: " + range);
            }
            first = Long.parseLong(wanted.group(1));
            end = Math.min(size, Long.parseLong(wanted.group(2)) + 1);
            exchange.getResponseHeaders().set("Content-Range", "bytes " + first + "-" + (end - 1) + "/" + size);
        }
        exchange.getResponseHeaders().set("ETag", "\"1\"");
        reads.incrementAndGet();
        bytes.addAndGet(end - first);
        exchange.sendResponseHeaders(range == null ? 200 : 206, end - first);
        try (FileChannel in = FileChannel.open(file); OutputStream out = exchange.getResponseBody()) {
            ByteBuffer piece = ByteBuffer.allocate(PIECE);
            for (long at = first; at < end; at += piece.limit()) {
                in.read(piece.clear().limit((int) Math.min(PIECE, end - at)), at);
                out.write(piece.array(), 0, piece.flip().limit());
            }
        }
        exchange.close();
    }
}
