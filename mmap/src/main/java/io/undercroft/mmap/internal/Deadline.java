package io.undercroft.mmap.internal;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/// The end of a wait.
///
/// @param patience how long in all
/// @param end when that is over, in the time of [System#nanoTime]
record Deadline(Duration patience, long end) {
    private static final long FIRST_PAUSE = Duration.ofNanos(20_000).toNanos();
    private static final long LONGEST_PAUSE = Duration.ofMillis(1).toNanos();

    /// {@return the deadline of a wait that starts now}
    ///
    /// @param patience how long
    static Deadline in(Duration patience) {
        return new Deadline(patience, System.nanoTime() + patience.toNanos());
    }

    /// {@return how long to wait still; 0 or less if it is over}
    long nanosLeft() {
        return end - System.nanoTime();
    }

    /// Tries again and again, as a call that waits could not be given up. An interrupt is kept for later: it would end
    /// each pause at once, and has to wait.
    ///
    /// @param attempt what is tried; returns whether it succeeded
    /// @param what what is waited for, for the message of a failure
    /// @param folder whose lock it is about, for the same
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
