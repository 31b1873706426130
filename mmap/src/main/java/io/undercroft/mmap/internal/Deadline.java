package io.undercroft.mmap.internal;

import java.time.Duration;

/// Until when somebody waits, whatever for.
///
/// @param patience how long in all
/// @param end when that is over, as [System#nanoTime] tells the time
record Deadline(Duration patience, long end) {
    /// {@return that of somebody who starts to wait now}
    ///
    /// @param patience how long
    static Deadline in(Duration patience) {
        return new Deadline(patience, System.nanoTime() + patience.toNanos());
    }

    /// {@return how long to wait still; 0 or less if it is over}
    long nanosLeft() {
        return end - System.nanoTime();
    }
}
