package io.undercroft.http.internal;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// A failure that may go away when the request is repeated.
final class TransientException extends IOException {
    private static final long serialVersionUID = 1L;

    private final transient Optional<Duration> wait;

    /// Describes a failure.
    ///
    /// @param message what happened
    /// @param wait the pause that the server asks for
    /// @param cause the exception that it is due to, or null
    TransientException(String message, Optional<Duration> wait, @Nullable Throwable cause) {
        super(message, cause);
        this.wait = wait;
    }

    Optional<Duration> pause() {
        return wait;
    }
}
