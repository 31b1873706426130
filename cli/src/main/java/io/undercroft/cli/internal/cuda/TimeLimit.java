package io.undercroft.cli.internal.cuda;

import java.time.Duration;

/// The time that a run may take.
final class TimeLimit {
    private final long end;

    /// Starts now.
    ///
    /// @param most the time
    TimeLimit(Duration most) {
        end = System.nanoTime() + most.toNanos();
    }

    /// {@return the seconds that are left; negative when the time is up}
    double secondsLeft() {
        return (end - System.nanoTime()) / 1e9;
    }

    boolean isUp() {
        return secondsLeft() <= 0;
    }
}
