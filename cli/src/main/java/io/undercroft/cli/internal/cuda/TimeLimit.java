package io.undercroft.cli.internal.cuda;

import java.time.Duration;

/// The time that a run may take.
final class TimeLimit {
    private final long end;

    /// Starts the time.
    ///
    /// @param most the maximum time
    TimeLimit(Duration most) {
        end = System.nanoTime() + most.toNanos();
    }

    /// {@return the remaining seconds; negative after the limit}
    double secondsLeft() {
        return (end - System.nanoTime()) / 1e9;
    }

    boolean isUp() {
        return secondsLeft() <= 0;
    }
}
