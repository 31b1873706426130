package io.undercroft.http.internal;

import java.time.Duration;
import java.util.Optional;

/// How a server is accessed.
///
/// @param token the token for the host of the URI that was opened
/// @param timeout the time without any byte after which a request is given up
/// @param isPlainAllowed whether requests may be unencrypted
/// @param retries how often requests are repeated
record Access(Optional<String> token, Duration timeout, boolean isPlainAllowed, Retries retries) {
    /// Leaves the token out.
    @Override
    public String toString() {
        return "Access[timeout=" + timeout + ", isPlainAllowed=" + isPlainAllowed + "]";
    }
}
