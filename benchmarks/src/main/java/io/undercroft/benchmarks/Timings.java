package io.undercroft.benchmarks;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
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

    /// {@return how many times faster one was than another: round by round, or by the medians if one of them ran less
    /// often}
    ///
    /// @param contender the one
    /// @param other the other
    Samples speedup(String contender, String other) {
        Samples slower = of(other);
        Samples faster = of(contender);
        return slower.values().size() == faster.values().size()
                ? slower.over(faster)
                : new Samples(List.of(slower.median() / faster.median()));
    }

    /// {@return the milliseconds of one contender}
    ///
    /// @param what what the name of the figure begins with
    /// @param contender its name
    Figure millis(String what, String contender) {
        return Figure.of(what + contender, of(contender).map(seconds -> seconds * 1e3), "ms");
    }

    /// {@return how many times faster one was than another, see [#speedup]}
    ///
    /// @param what what the name of the figure begins with
    /// @param contender the one
    /// @param other the other
    Figure compared(String what, String contender, String other) {
        return Figure.of(what + contender + " compared with " + other, speedup(contender, other), "x");
    }

    /// {@return how many bytes of a workload one contender handled in a second}
    ///
    /// @param workload what all contenders handled in each round
    /// @param contender its name
    Figure rate(Workload workload, String contender) {
        double gibibytes = workload.nbytes() / 0x1p30;
        return Figure.of(workload.what() + ": " + contender, of(contender).map(s -> gibibytes / s), "GiB/s");
    }

    /// {@return these and the times of further contenders}
    ///
    /// @param further the others
    Timings and(Timings further) {
        Map<String, Samples> all = new LinkedHashMap<>(seconds);
        all.putAll(further.seconds);
        return new Timings(all);
    }

    /// {@return the times of as much work many times}
    ///
    /// @param factor how many times
    Timings times(double factor) {
        Map<String, Samples> longer = new LinkedHashMap<>();
        seconds.forEach((contender, samples) -> longer.put(contender, samples.map(s -> s * factor)));
        return new Timings(longer);
    }

    /// {@return the times of some contenders}
    ///
    /// @param contenders their names
    Timings only(String... contenders) {
        Map<String, Samples> some = new LinkedHashMap<>();
        for (String contender : contenders) {
            some.put(contender, of(contender));
        }
        return new Timings(some);
    }

    /// {@return the names of the contenders}
    List<String> contenders() {
        return List.copyOf(seconds.keySet());
    }

    /// {@return seconds as text: three significant digits, in milliseconds below one second}
    ///
    /// @param seconds the number of seconds
    static String shown(double seconds) {
        return seconds < 1
                ? String.format(Locale.ROOT, "%.3g ms", seconds * 1e3)
                : String.format(Locale.ROOT, "%.3g s", seconds);
    }
}
