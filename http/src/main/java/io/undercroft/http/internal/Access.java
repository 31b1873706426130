package io.undercroft.http.internal;

import io.undercroft.mmap.spi.Retries;
import java.time.Duration;
import java.util.Optional;

/// How a server is accessed.
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
