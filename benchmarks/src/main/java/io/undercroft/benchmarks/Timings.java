package io.undercroft.benchmarks;

import java.util.List;
import java.util.Map;

/// The times of the contenders.
///
/// @param seconds by contender, in the order of the contenders, one sample a round
record Timings(Map<String, Samples> seconds) {
    /// {@return the seconds of one contender}
    ///
    /// @param contender its name
    /// @throws IllegalArgumentException if there is no such contender
    Samples of(String contender) {
        Samples found = seconds.get(contender);
        if (found == null) {
            throw new IllegalArgumentException("no contender is called '" + contender + "'");
        }
        return found;
    }

    /// {@return how many times faster one was than another, round by round}
    ///
    /// @param contender the one
    /// @param other the other
    Samples speedup(String contender, String other) {
        return of(other).over(of(contender));
    }

    /// {@return the names of the contenders}
    List<String> contenders() {
        return List.copyOf(seconds.keySet());
    }
}
