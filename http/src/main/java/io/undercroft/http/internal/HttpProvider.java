package io.undercroft.http.internal;

import io.undercroft.mmap.internal.support.Retries;
import io.undercroft.mmap.internal.support.Retries.Pause;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.StoreProvider;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/// Opens `https` URIs, and `http` URIs of this host or where the caller allows them.
///
/// A token that the caller gives is sent to the host of the URI; that of the environment, `HF_TOKEN`, to the hub of
/// Hugging Face only. No token is sent to another host, nor unencrypted to another machine.
public final class HttpProvider implements StoreProvider {
    /// The setting with the token.
    static final String TOKEN = "https.token";
    /// The setting that allows unencrypted connections.
    static final String PLAIN = "http.allow";
    /// The setting with the time without any byte after which a connection is given up, in seconds.
    static final String TIMEOUT = "https.timeout";

    /// The setting with the least number of bytes a second at which a request goes on.
    static final String SLOWEST = "https.slowest";

    private static final String HUB = "huggingface.co";
    private static final String HUB_TOKEN = "HF_TOKEN";
    private static final long DEFAULT_TIMEOUT = 60;
    private static final long LONGEST_TIMEOUT = 86_400;
    private static final long DEFAULT_SLOWEST = 100;
    private static final long FASTEST = 1 << 30;

    private final UnaryOperator<@Nullable String> environment;
    private final Retries retries;

    /// For `ServiceLoader`.
    public HttpProvider() {
        this(System::getenv, retries(5, Thread::sleep));
    }

    /// A provider.
    ///
    /// @param environment returns the value of a variable of the environment, or null
    /// @param retries how often requests are repeated
    HttpProvider(UnaryOperator<@Nullable String> environment, Retries retries) {
        this.environment = environment;
        this.retries = retries;
    }

    static Retries retries(int attempts, Pause pause) {
        return new Retries(attempts, "check the network and the server, or try again later", pause);
    }

    @Override
    public Set<String> schemes() {
        return Set.of("https", "http");
    }

    @Override
    public List<Setting> settings() {
        return List.of(
                Setting.ofOpening(TOKEN, "a token for the host of the URI; HF_TOKEN of the environment for " + HUB),
                Setting.ofOpening(TIMEOUT, DEFAULT_TIMEOUT + ", or another number of seconds without any byte"),
                Setting.ofOpening(SLOWEST, DEFAULT_SLOWEST + ", or another number of bytes a second"),
                Setting.ofOpening(PLAIN, "no, yes"));
    }

    @Override
    public RangeSource open(URI uri, OpenOptions options) throws IOException {
        Location location = Location.of(uri);
        if (!location.isEncrypted() && !location.isThisHost() && !isPlainAllowed(options)) {
            throw new IllegalArgumentException(location + ": http is not encrypted; use https, or allow it with the "
                    + "setting " + PLAIN + "=yes");
        }
        Optional<String> token = token(location, options);
        token.ifPresent(text -> checkToken(text, location));
        return HttpSource.open(location,
                new Requests.Access(token, Duration.ofSeconds(number(options, TIMEOUT, DEFAULT_TIMEOUT, 1,
                        LONGEST_TIMEOUT)), number(options, SLOWEST, DEFAULT_SLOWEST, 0, FASTEST),
                        isPlainAllowed(options), retries));
    }

    private Optional<String> token(Location location, OpenOptions options) {
        Optional<String> given = options.setting(TOKEN);
        if (given.isPresent() || !location.isEncrypted() || !location.isHost(HUB)) {
            return given;
        }
        return Optional.ofNullable(environment.apply(HUB_TOKEN)).map(String::strip).filter(text -> !text.isEmpty());
    }

    private static void checkToken(String token, Location location) {
        if (token.isEmpty() || token.chars().anyMatch(c -> c <= ' ' || c > '~')) {
            throw new IllegalArgumentException("the token for " + location + " is empty, or has characters that no "
                    + "token has; check the setting " + TOKEN + " or the variable " + HUB_TOKEN);
        }
        if (!location.isEncrypted() && !location.isThisHost()) {
            throw new IllegalArgumentException(location + ": a token is not sent without encryption; use https");
        }
    }

    private static boolean isPlainAllowed(OpenOptions options) {
        return switch (options.setting(PLAIN).orElse("no")) {
            case "no" -> false;
            case "yes" -> true;
            default -> throw new IllegalArgumentException("the setting " + PLAIN + " is yes or no");
        };
    }

    private static long number(OpenOptions options, String setting, long standard, long least, long most) {
        try {
            long number = Long.parseLong(options.setting(setting).orElse(String.valueOf(standard)));
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException _) {
            // Reported below.
        }
        throw new IllegalArgumentException("the setting " + setting + " is a number from " + least + " to " + most);
    }
}
