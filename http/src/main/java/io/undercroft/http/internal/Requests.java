package io.undercroft.http.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.mmap.internal.support.Retries;
import io.undercroft.mmap.internal.support.Retries.Action;
import io.undercroft.mmap.internal.support.Retries.TransientException;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.ConnectException;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Redirect;
import java.net.http.HttpClient.Version;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/// Sends requests for ranges of one file. Redirects are followed here, since the token must not follow them to another
/// host.
final class Requests {
    private static final Logger LOG = System.getLogger("io.undercroft.http");
    private static final int MOST_REDIRECTS = 10;
    private static final Set<Integer> REDIRECTS = Set.of(301, 302, 303, 307, 308);
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(30);

    private final Location location;
    private final Access access;
    private final Map<Object, CompletableFuture<?>> underWay = new ConcurrentHashMap<>();
    private volatile boolean isClosed;

    /// The connections of the JVM, made for the first file.
    private static final class Client {
        // Ranges are fetched by several connections, each with its own window, and not by one with HTTP/2.
        static final HttpClient SHARED = HttpClient.newBuilder().version(Version.HTTP_1_1)
                .followRedirects(Redirect.NEVER).connectTimeout(CONNECT_TIMEOUT).build();
    }

    /// A response that is no redirect.
    ///
    /// @param at where it came from
    /// @param status its status
    /// @param headers its headers
    record Response(Location at, int status, HttpHeaders headers) {}

    /// Requests for a file.
    ///
    /// @param location the file, to whose host the token is sent
    /// @param access how
    Requests(Location location, Access access) {
        this.location = location;
        this.access = access;
    }

    Location location() {
        return location;
    }

    Access access() {
        return access;
    }

    /// Repeats an action that fails for a reason that may go away.
    ///
    /// @throws RemoteFileException if it still fails the last time
    <T> T retrying(Action<T> action) throws IOException {
        return access.retries().run(LOG, location.toString(), () -> {
            try {
                return action.run();
            } catch (TransientException e) {
                checkOpen();
                throw e;
            }
        });
    }

    void warn(String what) {
        LOG.log(Level.WARNING, "{0}: {1}", location, what);
    }

    /// Requests a range, and follows redirects.
    ///
    /// @param start where to begin: the location of the file, or where it was redirected to before
    /// @param first the first byte
    /// @param last the last byte
    /// @param ifRange the tag of the version that is meant, if that is known
    /// @param bodies returns the receiver of the body of a response
    /// @return the response, whose body has been received
    /// @throws TransientException if the request may succeed later
    /// @throws RemoteFileException if it cannot
    /// @throws IOException if this is closed, or the thread interrupted
    Response range(Location start, long first, long last, Optional<String> ifRange,
            Function<ResponseInfo, Body> bodies) throws IOException {
        Location at = start;
        for (int redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
            HttpRequest.Builder request = HttpRequest.newBuilder(at.uri()).GET()
                    .header("Range", "bytes=" + first + "-" + last).header("Accept-Encoding", "identity")
                    .header("User-Agent", "undercroft");
            ifRange.ifPresent(tag -> request.header("If-Range", tag));
            if (access.token().isPresent() && at.isSameOrigin(location)) {
                request.header("Authorization", "Bearer " + access.token().get());
            }
            HttpResponse<Long> response = exchange(request.build(),
                    info -> REDIRECTS.contains(info.statusCode()) ? Body.skipped() : bodies.apply(info));
            if (!REDIRECTS.contains(response.statusCode())) {
                return new Response(at, response.statusCode(), response.headers());
            }
            at = redirected(at, response.headers().firstValue("Location").orElse(""));
        }
        throw unsupported("the server redirects more than " + MOST_REDIRECTS + " times; check the URI");
    }

    private Location redirected(Location from, String target) throws RemoteFileException {
        Location to;
        try {
            to = from.redirected(target);
        } catch (IllegalArgumentException e) {
            throw unsupported("the server redirects to something that is no URI of a web server; check the URI");
        }
        boolean isAllowed = to.isEncrypted() || access.isPlainAllowed()
                || (!from.isEncrypted() && to.isThisHost());
        if (!isAllowed) {
            throw unsupported("the server redirects to an http URI, which is not encrypted; allow it with the setting "
                    + HttpProvider.PLAIN + "=yes if you trust the network");
        }
        return to;
    }

    RemoteFileException unsupported(String what) {
        return new RemoteFileException(location.toString(), Kind.UNSUPPORTED, what, null);
    }

    /// Waits as long as enough bytes arrive.
    private HttpResponse<Long> exchange(HttpRequest request, Function<ResponseInfo, Body> bodies) throws IOException {
        AtomicReference<@Nullable Body> receiver = new AtomicReference<>();
        CompletableFuture<HttpResponse<Long>> response = Client.SHARED.sendAsync(request, info -> {
            Body body = bodies.apply(info);
            receiver.set(body);
            return body;
        });
        Object key = new Object();
        underWay.put(key, response);
        try {
            checkOpen();
            return await(response, receiver);
        } catch (InterruptedException e) {
            throw Retries.interrupted(location.toString(), e);
        } catch (CancellationException e) {
            throw closed();
        } catch (ExecutionException e) {
            checkOpen();
            throw described(e.getCause());
        } finally {
            underWay.remove(key);
            response.cancel(true);
        }
    }

    private HttpResponse<Long> await(CompletableFuture<HttpResponse<Long>> response,
            AtomicReference<@Nullable Body> receiver) throws IOException, InterruptedException, ExecutionException {
        long before = -1;
        while (true) {
            try {
                return response.get(access.timeout().toMillis(), TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                Body body = receiver.get();
                long now = body == null ? -1 : body.count();
                if (now == before) {
                    throw new TransientException("no byte arrived for " + access.timeout().toSeconds() + " s",
                            Optional.empty(), e);
                }
                if (before >= 0 && now - before < access.slowest() * access.timeout().toSeconds()) {
                    throw new TransientException("only " + (now - before) + " bytes arrived in "
                            + access.timeout().toSeconds() + " s, and less than " + access.slowest()
                            + " a second is given up (the setting " + HttpProvider.SLOWEST + ")", Optional.empty(), e);
                }
                before = now;
            }
        }
    }

    private IOException described(@Nullable Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof Body.TooLongException) {
                return unsupported("the server sent more bytes than it said, or than are read at once; download the "
                        + "file and open it there");
            }
            if (cause instanceof SSLException) {
                return new RemoteFileException(location.toString(), Kind.UNAVAILABLE,
                        "there is no trusted connection to the server (" + message(cause)
                                + "); check that its certificate is for this host and valid now, and if you trust it "
                                + "or its issuer, add that to a trust store (keytool -importcert -noprompt -alias "
                                + "server -file CERTIFICATE -keystore FILE -storepass PASSWORD) and start Java with "
                                + "-Djavax.net.ssl.trustStore=FILE -Djavax.net.ssl.trustStorePassword=PASSWORD",
                        failure);
            }
            if (cause instanceof UnresolvedAddressException) {
                return new TransientException("the name of the server cannot be resolved", Optional.empty(), failure);
            }
        }
        String what = failure instanceof ConnectException
                ? "the server cannot be connected to"
                : "the connection broke (" + (failure == null ? "" : message(failure)) + ")";
        return new TransientException(what, Optional.empty(), failure);
    }

    /// The JDK repeats what a server has sent.
    private static String message(Throwable failure) {
        return FormatException.printable(String.valueOf(failure.getMessage()));
    }

    private void checkOpen() throws IOException {
        if (isClosed) {
            throw closed();
        }
    }

    private IOException closed() {
        return new IOException(location + " is closed");
    }

    /// Ends requests that are under way.
    void close() {
        isClosed = true;
        underWay.values().forEach(response -> response.cancel(true));
    }

    /// The parameters of access to a server.
    ///
    /// @param token the token for the host of the URI that was opened
    /// @param timeout the time without any byte after which a request is given up
    /// @param slowest the least number of bytes a second, over such a time, at which a request goes on
    /// @param isPlainAllowed whether requests may be unencrypted
    /// @param retries how often requests are repeated
    record Access(Optional<String> token, Duration timeout, long slowest, boolean isPlainAllowed, Retries retries) {
        /// Leaves the token out.
        @Override
        public String toString() {
            return "Access[timeout=" + timeout + ", isPlainAllowed=" + isPlainAllowed + "]";
        }
    }
}
