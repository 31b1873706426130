package io.undercroft.mmap.internal.support;

import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.RemoteFileException.Kind;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/// Repeats actions that fail for reasons that may go away: a bounded number of times, with a pause before each
/// repetition, which is logged.
///
/// @param attempts how often an action is run in all
/// @param remedy what to do if it fails each time, for the message
/// @param pause waits
public record Retries(int attempts, String remedy, Pause pause) {
    /// The longest pause that a store may request. If it requests a longer one, the action fails.
    private static final Duration LONGEST = Duration.ofSeconds(60);
    private static final long FIRST_MILLIS = 250;

    /// Waits.
    @FunctionalInterface
    public interface Pause {
        /// Waits.
        ///
        /// @param duration how long
        /// @throws InterruptedException if the thread is interrupted
        void sleep(Duration duration) throws InterruptedException;
    }

    /// An action that is repeated.
    @FunctionalInterface
    public interface Action<T> {
        /// Runs it once.
        ///
        /// @return its result
        /// @throws TransientException if it may succeed when it is run again
        /// @throws IOException if it cannot
        T run() throws IOException;
    }

    /// A failure that may go away when the action is repeated.
    public static final class TransientException extends IOException {
        private static final long serialVersionUID = 1L;

        private final transient Optional<Duration> wait;

        /// Describes a failure.
        ///
        /// @param message what happened
        /// @param wait the pause that the store requests
        /// @param cause the exception that it is due to, or null
        public TransientException(String message, Optional<Duration> wait, @Nullable Throwable cause) {
            super(message, cause);
            this.wait = wait;
        }
    }

    /// Runs an action until it succeeds, or fails for good.
    ///
    /// @param log the logger of the repetitions
    /// @param location the name of the object, for messages
    /// @param action the action
    /// @return its result
    /// @throws RemoteFileException if it still fails the last time, or the store asks for a pause of more than a minute
    /// @throws InterruptedIOException if the thread is interrupted while it waits
    /// @throws IOException what the action throws, unless it is transient
    public <T> T run(Logger log, String location, Action<T> action) throws IOException {
        for (int attempt = 1;; attempt++) {
            try {
                return action.run();
            } catch (TransientException e) {
                Duration wait = e.wait.orElse(after(attempt));
                if (wait.compareTo(LONGEST) > 0) {
                    throw unavailable(location, " and asks to wait for " + wait.toSeconds() + " s", e);
                }
                if (attempt >= attempts) {
                    throw unavailable(location, ", at each of " + attempt + " attempts", e);
                }
                log.log(Level.WARNING, "{0}: {1}; attempt {2} of {3} follows in {4} ms", location, e.getMessage(),
                        attempt + 1, attempts, String.valueOf(wait.toMillis()));
                try {
                    pause.sleep(wait);
                } catch (InterruptedException interrupted) {
                    throw interrupted(location, interrupted);
                }
            }
        }
    }

    private RemoteFileException unavailable(String location, String more, TransientException cause) {
        return new RemoteFileException(location, Kind.UNAVAILABLE, cause.getMessage() + more + "; " + remedy, cause);
    }

    /// Returns the pause after an attempt: twice as long each time, and not the same for all clients.
    private static Duration after(int attempt) {
        long millis = FIRST_MILLIS << Math.min(attempt - 1, 5);
        return Duration.ofMillis(millis / 2 + ThreadLocalRandom.current().nextLong(millis / 2 + 1));
    }

    /// {@return the exception for a thread that was interrupted, which stays so}
    ///
    /// @param location the name of the object
    /// @param e what was thrown
    public static InterruptedIOException interrupted(String location, InterruptedException e) {
        Thread.currentThread().interrupt();
        InterruptedIOException interrupted = new InterruptedIOException(location
                + ": the thread was interrupted while it waited for the store; try again");
        interrupted.initCause(e);
        return interrupted;
    }
}
