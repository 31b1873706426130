package io.undercroft.mmap.internal;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/// The end of a wait.
///
/// @param patience the maximum time of the wait
/// @param end the end of the wait, in the time of [System#nanoTime]
record Deadline(Duration patience, long end) {
    private static final long FIRST_PAUSE = Duration.ofNanos(20_000).toNanos();
    private static final long LONGEST_PAUSE = Duration.ofMillis(1).toNanos();

    /// {@return the deadline of a wait that starts now}
    ///
    /// @param patience the maximum time
    static Deadline in(Duration patience) {
        return new Deadline(patience, System.nanoTime() + patience.toNanos());
    }

    /// {@return the remaining time in nanoseconds; 0 or less if the wait is over}
    long nanosLeft() {
        return end - System.nanoTime();
    }

    /// Repeats an attempt until it succeeds, since a blocking call could not be ended at the deadline. An interrupt is
    /// restored at the end, as it would end each pause at once.
    ///
    /// @param attempt the attempt; returns whether it succeeded
    /// @param what a description of the wait, for the message of a failure
    /// @param folder the directory that is locked, for the same message
    /// @throws RegistryException if it did not succeed in time
    void await(IoTask<Boolean> attempt, String what, String folder) throws IOException {
        long pause = FIRST_PAUSE;
        boolean interrupted = false;
        try {
            while (!attempt.run()) {
                if (nanosLeft() <= 0) {
                    throw new RegistryException(
                            what + " for " + patience.toSeconds() + " seconds; find the process that has it open with "
                                    + "`fuser " + folder + "`, and end it if it hangs");
                }
                LockSupport.parkNanos(pause);
                pause = Math.min(2 * pause, LONGEST_PAUSE);
                interrupted |= Thread.interrupted();
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
