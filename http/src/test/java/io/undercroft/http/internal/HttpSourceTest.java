package io.undercroft.http.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpHandler;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.OpenOptions;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// What a web server may do, and what comes of it. Pauses are recorded and not made.
class HttpSourceTest {
    private static final int SIZE = 300_000;
    private static final int ATTEMPTS = 4;

    @TempDir
    Path directory;

    private final Queue<Duration> pauses = new ConcurrentLinkedQueue<>();
    private byte[] bytes;
    private WebServer server;

    @BeforeEach
    void serve() throws IOException {
        bytes = new byte[SIZE];
        new Random(5).nextBytes(bytes);
        Files.write(directory.resolve("file.bin"), bytes);
        server = new WebServer(directory);
    }

    @AfterEach
    void stop() throws IOException {
        server.close();
    }

    private RangeSource open(URI uri, OpenOptions options, Map<String, String> environment) throws IOException {
        return new HttpProvider(environment::get, HttpProvider.retries(ATTEMPTS, pauses::add)).open(uri, options);
    }

    private RangeSource open(URI uri) throws IOException {
        return open(uri, OpenOptions.defaults(), Map.of());
    }

    private RangeSource open() throws IOException {
        return open(server.uri("file.bin"));
    }

    private void check(RangeSource source, int offset, int length) throws IOException {
        MemorySegment read = MemorySegment.ofArray(new byte[length]);
        source.read(offset, read);
        assertThat(read.mismatch(MemorySegment.ofArray(bytes).asSlice(offset, length))).isEqualTo(-1);
    }

    private static AbstractThrowableAssert<?, ?> assertFails(Kind kind, ThrowingCallable action) {
        return assertThatThrownBy(action).isInstanceOfSatisfying(RemoteFileException.class,
                e -> assertThat(e.kind()).as(e.getMessage()).isEqualTo(kind));
    }

    @Test
    void rangesAreReadAndTheFirstRequestTellsTheSize() throws IOException {
        try (RangeSource source = open()) {
            assertThat(source.size()).isEqualTo(SIZE);
            assertThat(source.location()).isEqualTo(server.uri("file.bin").toString());
            MemorySegment start = source.start();
            assertThat(start.mismatch(MemorySegment.ofArray(bytes).asSlice(0, 64 << 10))).isEqualTo(-1);
            check(source, 100_000, 50_000);
            check(source, SIZE - 1, 1);
            assertThat(source.isCurrent()).isTrue();
        }
        assertThat(server.ranges()).containsExactly("bytes=0-65535", "bytes=100000-149999", "bytes=299999-299999",
                "bytes=0-0");
    }

    @Test
    void smallAndEmptyFilesComeWithTheFirstRequest() throws IOException {
        Files.write(directory.resolve("small"), new byte[]{1, 2, 3});
        Files.write(directory.resolve("empty"), new byte[0]);
        try (RangeSource small = open(server.uri("small")); RangeSource empty = open(server.uri("empty"))) {
            assertThat(small.start().byteSize()).isEqualTo(3);
            assertThat(empty.size()).isZero();
            assertThat(empty.start().byteSize()).isZero();
            assertThat(empty.isCurrent()).isTrue();
        }
        assertThat(server.seen).hasSize(3);
    }

    @Test
    void aServerWithoutRangesIsReadAtOnce() throws IOException {
        server.on("file.bin", exchange -> {
            exchange.sendResponseHeaders(200, SIZE);
            exchange.getResponseBody().write(bytes);
        });
        try (RangeSource source = open()) {
            assertThat(source.size()).isEqualTo(SIZE);
            assertThat(source.start().mismatch(MemorySegment.ofArray(bytes))).isEqualTo(-1);
            assertThat(source.isCurrent()).isTrue();
        }
        server.on("file.bin", exchange -> {
            exchange.sendResponseHeaders(200, 0);
            exchange.getResponseBody().write(bytes);
        });
        try (RangeSource chunked = open()) {
            assertThat(chunked.size()).isEqualTo(SIZE);
        }
        server.on("file.bin", exchange -> {
            exchange.sendResponseHeaders(200, HttpSource.MOST_AT_ONCE + 1L);
            exchange.getResponseBody().write(bytes);
        });
        assertFails(Kind.UNSUPPORTED, this::open).hasMessageContaining("does not serve ranges")
                .hasMessageContaining("files of up to 64 MiB are read").hasMessageContaining("download it");
    }

    @ParameterizedTest
    @CsvSource({"401,NOT_PERMITTED,https.token", "403,NOT_PERMITTED,https.token", "404,NOT_FOUND,check the URI",
            "410,NOT_FOUND,check the URI", "418,UNSUPPORTED,418", "501,UNSUPPORTED,501",
            "416,UNSUPPORTED,download it", "500,UNAVAILABLE,at each of 4 attempts"})
    void statusesAreExplained(int status, Kind kind, String hint) {
        server.on("file.bin", exchange -> WebServer.status(exchange, status));
        assertFails(kind, this::open).hasMessageContaining(hint)
                .hasMessageStartingWith(server.uri("file.bin").toString());
        assertThat(server.seen).hasSize(kind == Kind.UNAVAILABLE ? ATTEMPTS : 1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"HTTP/1.1\r\u001b[2J\r\n\r\n", "HTTP/1.E\r\r\n\r\n"})
    void aMessageIsOneLineWhateverTheServerSends(String answer) throws IOException {
        try (ServerSocket broken = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
            Thread.startVirtualThread(() -> respond(broken, answer));
            URI uri = URI.create("http://127.0.0.1:" + broken.getLocalPort() + "/file");
            assertFails(Kind.UNAVAILABLE, () -> open(uri)).message().doesNotContainPattern("\\p{Cntrl}");
        }
    }

    private static void respond(ServerSocket server, String answer) {
        while (!server.isClosed()) {
            try (Socket client = server.accept()) {
                var _ = client.getInputStream().read(new byte[1 << 12]);
                client.getOutputStream().write(answer.getBytes(StandardCharsets.ISO_8859_1));
            } catch (IOException _) {
                // Closed.
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"401,NOT_PERMITTED", "404,CHANGED", "410,CHANGED", "416,CHANGED"})
    void statusesOfAnOpenFileAreExplained(int status, Kind kind) throws IOException {
        try (RangeSource source = open()) {
            server.on("file.bin", exchange -> WebServer.status(exchange, status));
            assertFails(kind, () -> check(source, 100_000, 10));
        }
    }

    @Test
    void tooManyRequestsAreRepeatedAfterThePauseThatTheServerAsksFor() throws IOException {
        AtomicInteger count = new AtomicInteger();
        server.on("file.bin", exchange -> {
            if (count.incrementAndGet() <= 2) {
                exchange.getResponseHeaders().add("Retry-After", "7");
                WebServer.status(exchange, count.get() == 1 ? 429 : 503);
            } else {
                server.serve(exchange);
            }
        });
        try (RangeSource source = open()) {
            check(source, 0, 10);
        }
        assertThat(pauses).containsExactly(Duration.ofSeconds(7), Duration.ofSeconds(7));
    }

    @Test
    void aPauseThatIsTooLongIsAFailure() {
        server.on("file.bin", exchange -> {
            exchange.getResponseHeaders().add("Retry-After", "3600");
            WebServer.status(exchange, 503);
        });
        assertFails(Kind.UNAVAILABLE, this::open).hasMessageContaining("3600 s");
        assertThat(pauses).isEmpty();
    }

    @Test
    void aBodyThatBreaksOffIsContinuedWhereItBroke() throws IOException {
        try (RangeSource source = open()) {
            AtomicInteger count = new AtomicInteger();
            server.on("file.bin", exchange -> {
                if (count.incrementAndGet() == 1) {
                    exchange.getResponseHeaders().add("Content-Range", "bytes 100000-199999/" + SIZE);
                    exchange.sendResponseHeaders(206, 100_000);
                    exchange.getResponseBody().write(bytes, 100_000, 60_000);
                    exchange.getResponseBody().flush();
                    throw new IOException("broken off");
                }
                server.serve(exchange);
            });
            server.reset();
            check(source, 100_000, 100_000);
            assertThat(server.seen).hasSize(2);
            assertThat(pauses).hasSize(1);
        }
    }

    @Test
    void aBodyThatAlwaysBreaksOffIsAFailure() throws IOException {
        try (RangeSource source = open()) {
            server.on("file.bin", exchange -> {
                exchange.getResponseHeaders().add("Content-Range", "bytes 100000-199999/" + SIZE);
                exchange.sendResponseHeaders(206, 100_000);
                throw new IOException("broken off");
            });
            assertFails(Kind.UNAVAILABLE, () -> check(source, 100_000, 100_000)).hasMessageContaining("attempts");
            assertThat(pauses).hasSize(ATTEMPTS - 1);
        }
    }

    @Test
    void aBodyThatIsShorterThanItsRangeIsAFailure() throws IOException {
        try (RangeSource source = open()) {
            server.on("file.bin", exchange -> {
                exchange.getResponseHeaders().add("Content-Range", "bytes 100000-199999/" + SIZE);
                exchange.sendResponseHeaders(206, -1);
            });
            assertFails(Kind.UNAVAILABLE, () -> check(source, 100_000, 100_000)).hasMessageContaining("0 of 100000");
        }
    }

    @Test
    void aBodyThatIsLongerThanItsRangeIsRefused() throws IOException {
        try (RangeSource source = open()) {
            server.on("file.bin", exchange -> {
                exchange.getResponseHeaders().add("Content-Range", "bytes 100000-100009/" + SIZE);
                exchange.sendResponseHeaders(206, 0);
                exchange.getResponseBody().write(bytes, 100_000, 11);
            });
            assertFails(Kind.UNSUPPORTED, () -> check(source, 100_000, 10)).hasMessageContaining("more bytes");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"bytes 100001-100010/300000", "bytes 0-9/300000", "bytes 100000-100010/300000", "nonsense",
            "bytes 100000-99999/300000", "bytes 100000-100009/50", "bytes 99999999999999999999-1/2", ""})
    void aWrongContentRangeIsRefused(String range) throws IOException {
        try (RangeSource source = open()) {
            server.on("file.bin", exchange -> {
                if (!range.isEmpty()) {
                    exchange.getResponseHeaders().add("Content-Range", range);
                }
                exchange.sendResponseHeaders(206, 10);
                exchange.getResponseBody().write(bytes, 100_000, 10);
            });
            assertFails(Kind.UNSUPPORTED, () -> check(source, 100_000, 10)).hasMessageContaining("100000-100009");
        }
    }

    @Test
    void aCompressedBodyIsRefused() throws IOException {
        HttpHandler gzip = exchange -> {
            exchange.getResponseHeaders().add("Content-Encoding", "gzip");
            server.serve(exchange);
        };
        try (RangeSource source = open()) {
            server.on("file.bin", gzip);
            assertFails(Kind.UNSUPPORTED, () -> check(source, 100_000, 10)).hasMessageContaining("gzip");
            assertFails(Kind.UNSUPPORTED, this::open).hasMessageContaining("gzip");
        }
    }

    @Test
    void aFileThatWasReplacedIsNotReadFurther() throws IOException {
        try (RangeSource source = open()) {
            Files.write(directory.resolve("file.bin"), new byte[SIZE + 1]);
            assertFails(Kind.CHANGED, () -> check(source, 100_000, 10)).hasMessageContaining("replaced")
                    .hasMessageContaining("open it again");
            assertThat(source.isCurrent()).isFalse();
            Files.delete(directory.resolve("file.bin"));
            assertFails(Kind.CHANGED, () -> check(source, 100_000, 10)).hasMessageContaining("removed");
            assertThat(source.isCurrent()).isFalse();
        }
    }

    @Test
    void whereAFileOfTheSameSizeWouldNotBeNoticedThatIsLogged() throws IOException {
        Queue<String> logged = new ConcurrentLinkedQueue<>();
        Logger log = Logger.getLogger("io.undercroft.http");
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord said) {
                logged.add(new SimpleFormatter().formatMessage(said));
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        log.addHandler(handler);
        try (RangeSource _ = open()) {
            assertThat(logged).isEmpty();
            server.on("file.bin", exchange -> {
                exchange.getResponseHeaders().add("Content-Range", "bytes 0-65535/" + SIZE);
                exchange.sendResponseHeaders(206, 65_536);
                exchange.getResponseBody().write(bytes, 0, 65_536);
            });
            try (RangeSource _ = open()) {
                assertThat(logged).singleElement().asString().contains("neither an ETag nor a time", "download it");
            }
        } finally {
            log.removeHandler(handler);
        }
    }

    @Test
    void aReplacedFileIsNoticedWithoutIfRangeAndWithoutTagsByItsSize() throws IOException {
        try (RangeSource source = open()) {
            server.on("file.bin", exchange -> {
                exchange.getResponseHeaders().add("ETag", "\"another\"");
                exchange.getResponseHeaders().add("Content-Range", "bytes 100000-100009/" + SIZE);
                exchange.sendResponseHeaders(206, 10);
                exchange.getResponseBody().write(bytes, 100_000, 10);
            });
            assertFails(Kind.CHANGED, () -> check(source, 100_000, 10));
            server.on("file.bin", exchange -> {
                exchange.getResponseHeaders().add("Content-Range", "bytes 100000-100009/" + (SIZE - 1));
                exchange.sendResponseHeaders(206, 10);
                exchange.getResponseBody().write(bytes, 100_000, 10);
            });
            assertFails(Kind.CHANGED, () -> check(source, 100_000, 10));
        }
    }

    @Test
    void redirectsAreFollowedAndRemembered() throws IOException {
        server.on("resolve", exchange -> WebServer.redirect(exchange, "/file.bin?signature=1"));
        try (RangeSource source = open(server.uri("resolve"))) {
            check(source, 100_000, 10);
            check(source, 200_000, 10);
            assertThat(server.seen.stream().map(WebServer.Seen::path)).containsExactly("/resolve", "/file.bin",
                    "/file.bin", "/file.bin");
            assertThat(source.location()).endsWith("/resolve");
        }
    }

    @Test
    void aRedirectThatHasExpiredIsResolvedAgain() throws IOException {
        AtomicInteger count = new AtomicInteger();
        server.on("resolve", exchange -> WebServer.redirect(exchange, "/signed" + count.incrementAndGet()));
        Files.copy(directory.resolve("file.bin"), directory.resolve("signed1"));
        Files.copy(directory.resolve("file.bin"), directory.resolve("signed2"));
        Files.setLastModifiedTime(directory.resolve("signed2"),
                Files.getLastModifiedTime(directory.resolve("signed1")));
        try (RangeSource source = open(server.uri("resolve"))) {
            server.on("signed1", exchange -> WebServer.status(exchange, 403));
            check(source, 100_000, 10);
            assertThat(count).hasValue(2);
        }
    }

    @Test
    void endlessRedirectsAreRefused() {
        server.on("file.bin", exchange -> WebServer.redirect(exchange, "/file.bin"));
        assertFails(Kind.UNSUPPORTED, this::open).hasMessageContaining("10 times");
        assertThat(server.seen).hasSize(11);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "ftp://127.0.0.1/x", "http://user:secret@127.0.0.1/x", "http://[", "http://192.0.2.1/x",
            "file:///etc/passwd"})
    void redirectsToOtherThingsAreRefused(String target) {
        server.on("file.bin", exchange -> WebServer.redirect(exchange, target.isEmpty() ? "http:" : target));
        assertFails(Kind.UNSUPPORTED, this::open).message().doesNotContain("secret");
        assertThat(server.seen).hasSize(1);
    }

    @Test
    void aTokenIsSentToItsHostOnly() throws IOException {
        server.on("resolve", exchange -> WebServer.redirect(exchange, "/step"));
        server.on("step", exchange -> WebServer.redirect(exchange, server.otherHost("file.bin").toString()));
        OpenOptions options = OpenOptions.defaults().setting("https.token", "hf_secret");
        try (RangeSource source = open(server.uri("resolve"), options, Map.of())) {
            check(source, 100_000, 10);
        }
        assertThat(server.seen).filteredOn(request -> request.host().startsWith("127.0.0.1"))
                .extracting(WebServer.Seen::authorization).containsExactly("Bearer hf_secret", "Bearer hf_secret");
        assertThat(server.seen).filteredOn(request -> request.host().startsWith("localhost"))
                .extracting(WebServer.Seen::authorization).containsExactly(null, null);
    }

    @Test
    void theTokenOfTheEnvironmentIsForTheHubOnly() throws IOException {
        try (RangeSource source = open(server.uri("file.bin"), OpenOptions.defaults(),
                Map.of("HF_TOKEN", "hf_secret"))) {
            check(source, 100_000, 10);
        }
        assertThat(server.seen).extracting(WebServer.Seen::authorization).containsOnlyNulls();
    }

    @Test
    void aTokenThatIsNotAcceptedIsSaidToBeSoAndNotShown() {
        server.on("file.bin", exchange -> WebServer.status(exchange, 401));
        OpenOptions options = OpenOptions.defaults().setting("https.token", "hf_secret");
        assertFails(Kind.NOT_PERMITTED, () -> open(server.uri("file.bin"), options, Map.of()))
                .hasMessageContaining("token is valid").message().doesNotContain("hf_secret");
        OpenOptions bad = OpenOptions.defaults().setting("https.token", "hf_secret\r\nX: y");
        assertThatThrownBy(() -> open(server.uri("file.bin"), bad, Map.of()))
                .isInstanceOf(IllegalArgumentException.class).message().doesNotContain("hf_secret");
    }

    @Test
    void unencryptedConnectionsToOtherMachinesHaveToBeAllowed() {
        URI plain = URI.create("http://192.0.2.1/model.safetensors");
        assertThatThrownBy(() -> open(plain)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("http.allow=yes");
        OpenOptions token = OpenOptions.defaults().setting("http.allow", "yes").setting("https.token", "hf_secret");
        assertThatThrownBy(() -> open(plain, token, Map.of())).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("without encryption").message().doesNotContain("hf_secret");
    }

    @ParameterizedTest
    @ValueSource(strings = {"https:model.pt", "https:///model.pt", "https://user:secret@host/model.pt"})
    void invalidUrisAreRefused(String uri) {
        assertThatThrownBy(() -> open(URI.create(uri))).isInstanceOf(IllegalArgumentException.class).message()
                .doesNotContain("secret");
    }

    @ParameterizedTest
    @CsvSource({"https.timeout,0", "https.timeout,soon", "https.slowest,-1", "http.allow,maybe"})
    void invalidSettingsAreRefused(String name, String value) {
        assertThatThrownBy(() -> open(server.uri("file.bin"), OpenOptions.defaults().setting(name, value), Map.of()))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining(name);
    }

    @Test
    void siblingsAreRelativeToTheUriThatWasAskedFor() throws IOException {
        Files.createDirectories(directory.resolve("repo/sub"));
        Files.write(directory.resolve("repo/a b%20c?#é.bin"), new byte[]{1});
        Files.write(directory.resolve("repo/sub/x.bin"), new byte[]{2});
        server.on("repo/index.json", exchange -> WebServer.redirect(exchange, "/file.bin"));
        OpenOptions options = OpenOptions.defaults().setting("https.token", "hf_secret");
        try (RangeSource source = open(URI.create(server.uri("repo/index.json") + "?download=true"), options, Map.of());
                RangeSource one = source.sibling("a b%20c?#é.bin");
                RangeSource two = source.sibling("sub/x.bin")) {
            assertThat(source.location()).endsWith("/repo/index.json?…");
            assertThat(one.start().byteSize()).isOne();
            assertThat(two.start().byteSize()).isOne();
            for (String path : new String[]{"../file.bin", "..", "", "/file.bin", "sub//x.bin", "./x"}) {
                assertFails(Kind.UNSUPPORTED, () -> source.sibling(path));
            }
        }
        assertThat(server.seen).extracting(WebServer.Seen::authorization).containsOnly("Bearer hf_secret");
    }

    @Test
    void aServerThatIsGoneIsUnavailable() throws IOException {
        try (RangeSource source = open()) {
            server.stop();
            assertFails(Kind.UNAVAILABLE, () -> check(source, 100_000, 10));
        }
        assertFails(Kind.UNAVAILABLE, this::open).hasMessageContaining("check the network");
    }

    @Test
    void aServerThatSaysNothingIsGivenUp() {
        CountDownLatch end = new CountDownLatch(1);
        server.on("file.bin", exchange -> await(end));
        OpenOptions options = OpenOptions.defaults().setting("https.timeout", "1");
        assertFails(Kind.UNAVAILABLE, () -> new HttpProvider(name -> null, HttpProvider.retries(2, pauses::add))
                .open(server.uri("file.bin"), options)).hasMessageContaining("no byte arrived for 1 s");
        end.countDown();
    }

    /// A server that would send a byte every now and then for ever.
    @Test
    void aServerThatSendsAlmostNothingIsGivenUp() {
        CountDownLatch end = new CountDownLatch(1);
        AtomicLong sent = new AtomicLong();
        server.on("file.bin", exchange -> {
            exchange.getResponseHeaders().add("Content-Range", "bytes 0-65535/1000000000");
            exchange.sendResponseHeaders(206, 65_536);
            try {
                while (!end.await(100, TimeUnit.MILLISECONDS)) {
                    exchange.getResponseBody().write(0);
                    exchange.getResponseBody().flush();
                    sent.incrementAndGet();
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        OpenOptions options = OpenOptions.defaults().setting("https.timeout", "1");
        assertFails(Kind.UNAVAILABLE, () -> new HttpProvider(name -> null, HttpProvider.retries(2, pauses::add))
                .open(server.uri("file.bin"), options)).hasMessageContaining(
                        " bytes arrived in 1 s, and less than 100 a second is given up (the setting https.slowest)")
                .hasMessageContaining("at each of 2 attempts");
        assertThat(sent.get()).isPositive();
        end.countDown();
    }

    @Test
    void anInterruptedThreadStopsWaiting() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        server.on("file.bin", exchange -> {
            asked.countDown();
            await(end);
        });
        Thread reader = Thread.currentThread();
        Thread.ofPlatform().start(() -> {
            await(asked);
            reader.interrupt();
        });
        assertThatThrownBy(this::open).isInstanceOf(InterruptedIOException.class);
        assertThat(Thread.interrupted()).isTrue();
        end.countDown();
    }

    @Test
    void closingEndsAReadThatIsUnderWay() throws Exception {
        RangeSource source = open();
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        server.on("file.bin", exchange -> {
            asked.countDown();
            await(end);
        });
        Thread.ofPlatform().start(() -> {
            await(asked);
            source.close();
        });
        assertThatThrownBy(() -> check(source, 100_000, 10)).isInstanceOf(IOException.class)
                .hasMessageContaining("closed");
        end.countDown();
        assertThatThrownBy(() -> check(source, 100_000, 10)).isInstanceOf(IOException.class)
                .hasMessageContaining("closed");
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
