package io.undercroft.http.internal;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/// How often a request is made that fails for a reason that may go away, and the pauses in between.
///
/// @param attempts how often in all
/// @param pause waits
record Retries(int attempts, Pause pause) {
    /// The longest pause that a server may ask for. If it asks for a longer one, the request fails.
    static final Duration LONGEST = Duration.ofSeconds(60);
    static final Retries DEFAULT = new Retries(5, Thread::sleep);

    private static final long FIRST_MILLIS = 250;

    /// Waits.
    @FunctionalInterface
    interface Pause {
        void sleep(Duration duration) throws InterruptedException;
    }

    /// {@return the pause after an attempt: twice as long each time, and not the same for all clients}
    ///
    /// @param attempt the number of the attempt, from 1
    static Duration after(int attempt) {
        long millis = FIRST_MILLIS << Math.min(attempt - 1, 5);
        return Duration.ofMillis(millis / 2 + ThreadLocalRandom.current().nextLong(millis / 2 + 1));
    }
}
