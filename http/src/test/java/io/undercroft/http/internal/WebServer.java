package io.undercroft.http.internal;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.undercroft.testsupport.ReservedPort;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;

/// A web server on this host that serves the files of a directory by ranges, with entity tags, and counts what it
/// sends. Requests for other files are not counted: they may be those of another program, for a server that was there
/// before.
final class WebServer implements AutoCloseable {
    private static final Pattern RANGE = Pattern.compile("bytes=(\\d+)-(\\d+)");

    /// What the server saw of a request.
    ///
    /// @param host the host and port that it was sent to
    /// @param path the path of the URI
    /// @param range the requested range, or null
    /// @param authorization the credentials, or null
    record Seen(String host, String path, String range, String authorization) {}

    final Queue<Seen> seen = new ConcurrentLinkedQueue<>();
    final AtomicLong bytes = new AtomicLong();
    private final Map<String, HttpHandler> special = new ConcurrentHashMap<>();
    private final ReservedPort port;
    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Path directory;

    WebServer(Path directory) throws IOException {
        this(directory, ReservedPort.any(), HttpServer::create);
    }

    private interface Creation {
        HttpServer create(InetSocketAddress address, int waiting) throws IOException;
    }

    private WebServer(Path directory, ReservedPort port, Creation creation) throws IOException {
        this.directory = directory;
        this.port = port;
        HttpServer server = creation.create(port.address(), 64);
        this.server = server;
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    /// {@return a server that encrypts}
    ///
    /// @param directory the directory with its files
    /// @param certificate the context with its certificate
    static WebServer encrypted(Path directory, SSLContext certificate) throws IOException {
        return new WebServer(directory, ReservedPort.any(), (address, waiting) -> {
            HttpsServer server = HttpsServer.create(address, waiting);
            server.setHttpsConfigurator(new HttpsConfigurator(certificate));
            return server;
        });
    }

    int port() {
        return port.number();
    }

    URI uri(String path) {
        return URI.create("http://127.0.0.1:" + port() + "/" + path);
    }

    /// {@return the same file by another name of this host}
    URI otherHost(String path) {
        return URI.create("http://localhost:" + port() + "/" + path);
    }

    /// Handles requests for a path in another way.
    void on(String path, HttpHandler handler) {
        special.put("/" + path, handler);
    }

    /// Serves a file as usual.
    void asUsual(String path) {
        special.remove("/" + path);
    }

    List<String> ranges() {
        return seen.stream().map(Seen::range).toList();
    }

    void reset() {
        seen.clear();
        bytes.set(0);
    }

    private void handle(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        if (!special.containsKey(path) && !Files.isRegularFile(file(exchange))) {
            status(exchange, 404);
            exchange.close();
            return;
        }
        seen.add(new Seen(exchange.getRequestHeaders().getFirst("Host"), path,
                exchange.getRequestHeaders().getFirst("Range"),
                exchange.getRequestHeaders().getFirst("Authorization")));
        try {
            special.getOrDefault(path, this::serve).handle(exchange);
        } catch (UncheckedIOException | IOException e) {
            // The client has gone.
        } finally {
            exchange.close();
        }
    }

    /// Serves a range of the file of that name.
    void serve(HttpExchange exchange) throws IOException {
        Path file = file(exchange);
        try (FileChannel in = FileChannel.open(file)) {
            String tag = "\"" + Files.getLastModifiedTime(file).toMillis() + "-" + in.size() + "\"";
            exchange.getResponseHeaders().add("ETag", tag);
            String range = exchange.getRequestHeaders().getFirst("Range");
            String condition = exchange.getRequestHeaders().getFirst("If-Range");
            Matcher form = range == null ? null : RANGE.matcher(range);
            if (form == null || !form.matches() || (condition != null && !condition.equals(tag))) {
                send(exchange, 200, in, 0, in.size());
                return;
            }
            long first = Long.parseLong(form.group(1));
            long last = Math.min(in.size() - 1, Long.parseLong(form.group(2)));
            if (first >= in.size()) {
                exchange.getResponseHeaders().add("Content-Range", "bytes */" + in.size());
                exchange.sendResponseHeaders(416, -1);
                return;
            }
            exchange.getResponseHeaders().add("Content-Range", "bytes " + first + "-" + last + "/" + in.size());
            send(exchange, 206, in, first, last - first + 1);
        }
    }

    private Path file(HttpExchange exchange) {
        return directory.resolve(exchange.getRequestURI().getPath().substring(1));
    }

    private void send(HttpExchange exchange, int status, FileChannel in, long first, long length) throws IOException {
        exchange.sendResponseHeaders(status, length == 0 ? -1 : length);
        try (OutputStream out = exchange.getResponseBody(); WritableByteChannel channel = Channels.newChannel(out)) {
            ByteBuffer chunk = ByteBuffer.allocate(1 << 16);
            for (long at = 0; at < length;) {
                chunk.clear().limit((int) Math.min(chunk.capacity(), length - at));
                int read = in.read(chunk, first + at);
                chunk.flip();
                // Counted before the client has them, which may ask for the count at once.
                bytes.addAndGet(read);
                channel.write(chunk);
                at += read;
            }
        }
    }

    /// Responds with a status and no body.
    static void status(HttpExchange exchange, int status) throws IOException {
        exchange.sendResponseHeaders(status, -1);
    }

    static void redirect(HttpExchange exchange, String target) throws IOException {
        exchange.getResponseHeaders().add("Location", target);
        exchange.sendResponseHeaders(302, -1);
    }

    /// Refuses connections from now on.
    void stop() {
        server.stop(0);
        threads.shutdownNow();
    }

    @Override
    public void close() throws IOException {
        stop();
        port.close();
    }
}
