package io.undercroft.http.internal;

import io.undercroft.format.FormatException;
import io.undercroft.http.internal.Requests.Response;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import io.undercroft.mmap.internal.support.Retries.TransientException;
import io.undercroft.mmap.spi.RangeSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.http.HttpHeaders;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/// A file on a web server. The first request fetches its start, which also returns its size and its version; each other
/// one is for a range of the same version.
///
/// A file of up to 64 MiB on a server that does not serve ranges is read at once. Where requests are redirected to is
/// remembered, and forgotten when the server there refuses: redirects may be signed for some time only.
final class HttpSource implements RangeSource {
    /// The size up to which a file is read at once from a server without ranges.
    static final int MOST_AT_ONCE = 64 << 20;

    private static final int OK = 200;
    private static final int PARTIAL = 206;
    private static final int UNAUTHORIZED = 401;
    private static final int FORBIDDEN = 403;
    private static final int NOT_FOUND = 404;
    private static final int REQUEST_TIMEOUT = 408;
    private static final int GONE = 410;
    private static final int NOT_SATISFIABLE = 416;
    private static final int TOO_MANY_REQUESTS = 429;
    private static final int SERVER_ERROR = 500;
    private static final int LAST_STATUS = 599;

    private final Requests requests;
    private final Version version;
    private final boolean isWhole;
    private @Nullable MemorySegment start;
    private volatile Location target;

    /// The result of the first request.
    ///
    /// @param at where the file is, after redirects
    /// @param version its version
    /// @param start its first bytes
    private record Opening(Location at, Version version, MemorySegment start) {}

    private HttpSource(Requests requests, Opening opening) {
        this.requests = requests;
        this.version = opening.version;
        this.start = opening.start;
        this.isWhole = opening.start.byteSize() == opening.version.size();
        this.target = opening.at;
        if (!isWhole && !version.isKnown()) {
            requests.warn("the server gives neither an ETag nor a time of the last change: if the file is replaced by "
                    + "one of the same size while it is open, that is not noticed; download it and open it there");
        }
    }

    /// Opens a file.
    ///
    /// @param location where it is
    /// @param access how
    /// @return the file
    /// @throws RemoteFileException if it is not there, or the server refuses or does not respond
    /// @throws IOException if the thread is interrupted
    static HttpSource open(Location location, Requests.Access access) throws IOException {
        Requests requests = new Requests(location, access);
        return new HttpSource(requests, requests.retrying(() -> opening(requests,
                RangeSource.startLength(location.uri().getPath()), true)));
    }

    /// @param isFirst whether the bytes are wanted, and not only the version
    private static Opening opening(Requests requests, int wanted, boolean isFirst) throws IOException {
        Body part = Body.upTo(wanted);
        Body whole = Body.upTo(MOST_AT_ONCE);
        Response response = requests.range(requests.location(), 0, wanted - 1, Optional.empty(),
                info -> switch (info.statusCode()) {
                    case PARTIAL -> part;
                    case OK -> isFirst && isReadAtOnce(info.headers()) ? whole : Body.skipped();
                    default -> Body.skipped();
                });
        HttpHeaders headers = response.headers();
        return switch (response.status()) {
            case PARTIAL -> new Opening(response.at(), Version.of(sizeOf(requests, headers, part), headers),
                    part.bytes());
            case OK -> {
                requireIdentity(requests, headers);
                long size = headers.firstValueAsLong("Content-Length").orElse(whole.count());
                if (isFirst && !isReadAtOnce(headers)) {
                    throw requests.unsupported("the server does not serve ranges of its files; without them, files of "
                            + "up to " + (MOST_AT_ONCE >> 20) + " MiB are read, and this one has " + size
                            + " bytes; download it and open it there");
                }
                yield new Opening(response.at(), Version.of(size, headers), whole.bytes());
            }
            case NOT_SATISFIABLE -> {
                if (contentRange(headers).filter(range -> range.size() == 0).isEmpty()) {
                    throw requests.unsupported("the server refuses a range at the start of the file (416); download it "
                            + "and open it there");
                }
                yield new Opening(response.at(), Version.of(0, headers), part.bytes());
            }
            default -> throw refusal(requests, response, false);
        };
    }

    /// A body of unknown length that a server ends by closing the connection may have been cut.
    private static boolean isReadAtOnce(HttpHeaders headers) {
        long length = headers.firstValueAsLong("Content-Length").orElse(-1);
        boolean isChunked = headers.firstValue("Transfer-Encoding").isPresent();
        return length >= 0 ? length <= MOST_AT_ONCE : isChunked;
    }

    private static long sizeOf(Requests requests, HttpHeaders headers, Body part) throws IOException {
        requireIdentity(requests, headers);
        ContentRange range = contentRange(headers).filter(sent -> sent.first() == 0 && sent.size() > 0)
                .orElseThrow(() -> wrongRange(requests, headers, "0-…"));
        if (part.count() != range.last() + 1) {
            throw new TransientException("only " + part.count() + " of " + (range.last() + 1) + " bytes arrived",
                    Optional.empty(), null);
        }
        return range.size();
    }

    private static Optional<ContentRange> contentRange(HttpHeaders headers) {
        return headers.firstValue("Content-Range").flatMap(ContentRange::parse);
    }

    private static RemoteFileException wrongRange(Requests requests, HttpHeaders headers, String wanted) {
        return requests.unsupported("the server responds to a request for the bytes " + wanted + " with "
                + headers.firstValue("Content-Range").map(text -> FormatException.quote(text))
                        .orElse("no Content-Range")
                + "; download the file and open it there");
    }

    private static void requireIdentity(Requests requests, HttpHeaders headers) throws RemoteFileException {
        Optional<String> coding = headers.firstValue("Content-Encoding")
                .filter(text -> !text.isBlank() && !text.strip().equalsIgnoreCase("identity"));
        if (coding.isPresent()) {
            throw requests
                    .unsupported("the server compresses the file on the way (" + FormatException.quote(coding.get())
                            + "), although that was refused; download it and open it there");
        }
    }

    @Override
    public String location() {
        return requests.location().toString();
    }

    @Override
    public long size() {
        return version.size();
    }

    @Override
    public synchronized MemorySegment start() {
        MemorySegment bytes = start == null ? MemorySegment.NULL : start;
        start = null;
        return bytes;
    }

    @Override
    public void read(long offset, MemorySegment into) throws IOException {
        if (isWhole) {
            throw new IOException(location() + ": its bytes were read when it was opened");
        }
        AtomicLong done = new AtomicLong();
        requests.retrying(() -> {
            Body body = Body.into(into.asSlice(done.get()));
            try {
                request(offset + done.get(), offset + into.byteSize() - 1, body);
            } catch (TransientException e) {
                target = requests.location();
                throw e;
            } finally {
                done.addAndGet(body.detach());
            }
            if (done.get() < into.byteSize()) {
                throw new TransientException("only " + done + " of " + into.byteSize() + " bytes arrived",
                        Optional.empty(), null);
            }
            return done;
        });
    }

    private void request(long first, long last, Body body) throws IOException {
        Location at = target;
        Response response = range(at, first, last, body);
        if (response.status() >= UNAUTHORIZED && response.status() <= GONE && !at.equals(requests.location())) {
            response = range(requests.location(), first, last, body);
        }
        IOException fault = fault(response, first, last);
        if (fault != null) {
            throw fault;
        }
        target = response.at();
    }

    /// Only bytes of the right range and version are received: those that arrive before a connection breaks are kept.
    private Response range(Location at, long first, long last, Body body) throws IOException {
        return requests.range(at, first, last, version.ifRange(),
                info -> fault(new Response(at, info.statusCode(), info.headers()), first, last) == null
                        ? body
                        : Body.skipped());
    }

    private @Nullable IOException fault(Response response, long first, long last) {
        HttpHeaders headers = response.headers();
        try {
            switch (response.status()) {
                case PARTIAL -> {
                    requireIdentity(requests, headers);
                    ContentRange range = contentRange(headers)
                            .filter(sent -> sent.first() == first && sent.last() <= last)
                            .orElseThrow(() -> wrongRange(requests, headers, first + "-" + last));
                    boolean isSame = range.size() < 0 || range.size() == version.size();
                    return isSame && version.matches(headers) ? null : changed(requests, "replaced");
                }
                case OK -> {
                    return version.ifRange().isEmpty() && version.matches(headers)
                            ? requests.unsupported("the server serves ranges of its files at some times only; try "
                                    + "again later, or download the file and open it there")
                            : changed(requests, "replaced");
                }
                case NOT_SATISFIABLE -> {
                    return changed(requests, "replaced");
                }
                default -> {
                    return refusal(requests, response, true);
                }
            }
        } catch (RemoteFileException e) {
            return e;
        }
    }

    private static RemoteFileException changed(Requests requests, String how) {
        return new RemoteFileException(requests.location().toString(), Kind.CHANGED,
                "it was " + how + " on the server after it was opened; open it again", null);
    }

    /// {@return the exception for a status that is neither success nor about the range}
    private static IOException refusal(Requests requests, Response response, boolean isOpen) {
        int status = response.status();
        boolean isRepeated = status == TOO_MANY_REQUESTS || status == REQUEST_TIMEOUT
                || (status >= SERVER_ERROR && status <= LAST_STATUS && status != SERVER_ERROR + 1);
        if (isRepeated) {
            return new TransientException("the server responds with status " + status,
                    retryAfter(response.headers()), null);
        }
        return switch (status) {
            case UNAUTHORIZED, FORBIDDEN -> new RemoteFileException(requests.location().toString(), Kind.NOT_PERMITTED,
                    "the server does not permit access (" + status + "); " + permission(requests), null);
            case NOT_FOUND, GONE -> isOpen
                    ? changed(requests, "removed")
                    : new RemoteFileException(requests.location().toString(), Kind.NOT_FOUND,
                            "there is no such file on the server (" + status + "); check the URI", null);
            default -> requests.unsupported("the server responds with status " + status
                    + ", which cannot be used; check the URI");
        };
    }

    private static String permission(Requests requests) {
        return requests.access().token().isPresent()
                ? "check that the token is valid, and that its owner may read the file"
                : "give a token with the setting " + HttpProvider.TOKEN
                        + ", or for huggingface.co in the environment as HF_TOKEN";
    }

    private static Optional<Duration> retryAfter(HttpHeaders headers) {
        Optional<String> value = headers.firstValue("Retry-After").map(String::strip);
        if (value.isEmpty()) {
            return Optional.empty();
        }
        if (value.get().matches("\\d{1,9}")) {
            return Optional.of(Duration.ofSeconds(Long.parseLong(value.get())));
        }
        try {
            Instant until = ZonedDateTime.parse(value.get(), DateTimeFormatter.RFC_1123_DATE_TIME).toInstant();
            Duration pause = Duration.between(Instant.now(), until);
            return Optional.of(pause.isNegative() ? Duration.ZERO : pause);
        } catch (DateTimeParseException _) {
            return Optional.empty();
        }
    }

    /// Each response says which version it is of.
    @Override
    public void confirm() {}

    @Override
    public boolean isCurrent() throws IOException {
        try {
            Opening now = requests.retrying(() -> opening(requests, 1, false));
            return now.version.size() == version.size()
                    && version.matches(now.version);
        } catch (RemoteFileException e) {
            if (e.kind() == Kind.NOT_FOUND) {
                return false;
            }
            throw e;
        }
    }

    @Override
    public RangeSource sibling(String path) throws IOException {
        return open(requests.location().sibling(path), requests.access());
    }

    @Override
    public void close() {
        requests.close();
    }

    /// The value of a header `Content-Range`.
    ///
    /// @param first the first byte, or -1 if the server has none of the range
    /// @param last the last byte, or -1
    /// @param size the size of the file in bytes, or -1 if the server does not give it
    private record ContentRange(long first, long last, long size) {
        private static final Pattern FORM = Pattern.compile("bytes (?:(\\d{1,18})-(\\d{1,18})|\\*)/(\\d{1,18}|\\*)");

        /// {@return the parsed value, or nothing if it is malformed}
        ///
        /// @param text the value
        static Optional<ContentRange> parse(String text) {
            Matcher form = FORM.matcher(text.strip());
            if (!form.matches()) {
                return Optional.empty();
            }
            long first = form.group(1) == null ? -1 : Long.parseLong(form.group(1));
            long last = form.group(2) == null ? -1 : Long.parseLong(form.group(2));
            long size = form.group(3).equals("*") ? -1 : Long.parseLong(form.group(3));
            boolean isValid = first <= last && (size < 0 || last < size);
            return isValid ? Optional.of(new ContentRange(first, last, size)) : Optional.empty();
        }
    }

    /// The version of a file on a server.
    ///
    /// @param size its size in bytes
    /// @param tag the entity tag, if the server gives one
    /// @param modified the time of the last change as the server writes it, if it does
    private record Version(long size, Optional<String> tag, Optional<String> modified) {
        private static final String WEAK = "W/";

        static Version of(long size, HttpHeaders headers) {
            return new Version(size, headers.firstValue("ETag"), headers.firstValue("Last-Modified"));
        }

        /// {@return whether a response may be of this version} Tags are compared where both have one, else times.
        ///
        /// @param headers those of the response
        boolean matches(HttpHeaders headers) {
            return matches(of(size, headers));
        }

        /// {@return whether another one may be this version} The sizes are not compared.
        ///
        /// @param other the other one
        boolean matches(Version other) {
            if (tag.isPresent() && other.tag.isPresent()) {
                return strong(tag.get()).equals(strong(other.tag.get()));
            }
            return modified.isEmpty() || other.modified.isEmpty() || modified.equals(other.modified);
        }

        /// {@return whether another version of the same size would be noticed}
        boolean isKnown() {
            return tag.isPresent() || modified.isPresent();
        }

        private static String strong(String tag) {
            return tag.startsWith(WEAK) ? tag.substring(WEAK.length()) : tag;
        }

        /// {@return the value of a header `If-Range` for this version, if it has a tag that permits one}
        Optional<String> ifRange() {
            return tag.filter(text -> !text.startsWith(WEAK));
        }
    }
}
