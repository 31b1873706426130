package io.undercroft.hadoop.internal;

import io.undercroft.mmap.RemoteFileException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.System.Logger.Level;
import java.lang.System.Logger;

/// How often a read is repeated that failed although the client of Hadoop has repeated its requests: with a new stream,
/// which asks the store anew where the bytes are.
final class Retries {
    static final int ATTEMPTS = 3;

    private static final Logger LOG = System.getLogger("io.undercroft.hadoop");
    private static final long FIRST_MILLIS = 250;

    private Retries() {}

    /// Reports a failure, waits, and returns if there is another attempt.
    ///
    /// @param location the file
    /// @param attempt the number of the attempt that failed, from 1
    /// @param failure what was thrown
    /// @throws RemoteFileException if it was the last attempt
    /// @throws InterruptedIOException if the thread is interrupted
    static void afterFailure(String location, int attempt, IOException failure) throws IOException {
        if (attempt >= ATTEMPTS) {
            throw Failures.unavailable(location, failure, ", at each of " + ATTEMPTS + " attempts");
        }
        long pause = FIRST_MILLIS << (attempt - 1);
        LOG.log(Level.WARNING, "{0}: {1}; attempt {2} of {3} follows in {4} ms", location, Failures.message(failure),
                attempt + 1, ATTEMPTS, pause);
        try {
            Thread.sleep(pause);
        } catch (InterruptedException e) {
            throw interrupted(location, e);
        }
    }

    /// {@return the exception for a thread that was interrupted, which stays so}
    ///
    /// @param location the file
    /// @param e what was thrown
    static InterruptedIOException interrupted(String location, InterruptedException e) {
        Thread.currentThread().interrupt();
        InterruptedIOException interrupted = new InterruptedIOException(location
                + ": the thread was interrupted while it waited for the store");
        interrupted.initCause(e);
        return interrupted;
    }
}
