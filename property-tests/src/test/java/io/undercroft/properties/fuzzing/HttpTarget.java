package io.undercroft.properties.fuzzing;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.http.internal.HttpProvider;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.internal.support.Retries;
import io.undercroft.mmap.internal.support.Retries.Pause;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.StoreProvider;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.reflect.Constructor;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;

/// Reads a file from a web server whose answer to each request is the input.
final class HttpTarget implements FuzzTarget.Reader {
    private static final int READ = 4;
    /// Each failed attempt is logged otherwise.
    private static final Logger LOGGER = Logger.getLogger("io.undercroft");

    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final StoreProvider provider = provider();
    private volatile byte[] answer = {};

    HttpTarget() throws IOException {
        LOGGER.setLevel(Level.OFF);
        Thread.ofPlatform().daemon().name("server").start(this::serve);
    }

    /// {@return answers of servers}
    static List<byte[]> seeds() {
        return List.of("""
                HTTP/1.1 206 Partial Content
                Content-Range: bytes 0-9/10
                Content-Length: 10
                ETag: "x"

                0123456789""", """
                HTTP/1.1 206 Partial Content
                Content-Range: bytes 0-3/4096
                Content-Length: 4
                Last-Modified: Sun, 01 Nov 2026 00:00:00 GMT

                0123""", """
                HTTP/1.1 200 OK
                Transfer-Encoding: chunked

                5
                01234
                0

                """, """
                HTTP/1.1 200 OK
                Content-Length: 5
                Content-Encoding: identity

                01234""", """
                HTTP/1.1 416 Range Not Satisfiable
                Content-Range: bytes */0
                Content-Length: 0

                """, """
                HTTP/1.1 503 Service Unavailable
                Retry-After: Sun, 01 Nov 2026 00:00:00 GMT
                Content-Length: 0

                """, """
                HTTP/1.1 302 Found
                Location: /other?a=b
                Content-Length: 0

                """, """
                HTTP/1.1 404 Not Found
                Retry-After: 1
                Content-Length: 0

                """).stream().map(text -> text.replace("\n", "\r\n").getBytes(ISO_8859_1))
                .collect(Collectors.toCollection(ArrayList::new));
    }

    /// With no pauses between attempts, which only classes of its package can ask for.
    private static StoreProvider provider() {
        try {
            Constructor<HttpProvider> constructor = HttpProvider.class.getDeclaredConstructor(UnaryOperator.class,
                    Retries.class);
            constructor.setAccessible(true);
            UnaryOperator<String> environment = _ -> null;
            Pause none = _ -> {};
            return constructor.newInstance(environment, new Retries(2, "try again", none));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /// A client may open connections that it does not use, so each has a thread.
    private void serve() {
        while (true) {
            try {
                Socket client = server.accept();
                Thread.startVirtualThread(() -> respond(client));
            } catch (IOException _) {
                // The client closed the connection.
            }
        }
    }

    private void respond(Socket client) {
        try (client) {
            readRequest(client.getInputStream());
            client.getOutputStream().write(answer);
        } catch (IOException _) {
            // The same.
        }
    }

    /// Reads up to an empty line.
    private static void readRequest(InputStream request) throws IOException {
        int ends = 0;
        while (ends < 2) {
            int read = request.read();
            if (read < 0) {
                return;
            }
            ends = read == '\n' ? ends + 1 : read == '\r' ? ends : 0;
        }
    }

    @Override
    public void read(byte[] input) throws IOException {
        answer = input;
        URI uri = URI.create("http://127.0.0.1:" + server.getLocalPort() + "/file");
        try (RangeSource source = provider.open(uri, OpenOptions.defaults()); Arena arena = Arena.ofShared()) {
            long first = source.start().byteSize();
            if (first > source.size()) {
                throw new AssertionError(first + " bytes of " + source.size());
            }
            if (first < source.size()) {
                source.read(0, arena.allocate(Math.min(source.size(), READ)));
                source.confirm();
                source.isCurrent();
            }
        } catch (RemoteFileException e) {
            if (e.getMessage().isBlank() || e.getMessage().lines().count() > 1) {
                throw new AssertionError("a message of no line, or of several", e);
            }
        }
    }
}
