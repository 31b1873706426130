package io.undercroft.benchmarks;

import java.util.List;
import org.jspecify.annotations.Nullable;

/// One measured number.
///
/// @param what what was measured
/// @param value the number; for repeated measurements their median
/// @param unit for instance `s`, `GiB/s` or `x` for a ratio
/// @param target the number that just meets the goal, or null where the figure is only for information
/// @param isHigherBetter whether the goal is the target or more, and not the target or less
/// @param samples the single measurements, in order
public record Figure(String what, double value, String unit, @Nullable Double target, boolean isHigherBetter,
        Samples samples) {
    /// A figure of repeated measurements.
    ///
    /// @param what what was measured
    /// @param samples the single measurements; their median is the value
    /// @param unit the unit of all of them
    /// @return a figure without a goal
    public static Figure of(String what, Samples samples, String unit) {
        return new Figure(what, samples.median(), unit, null, true, samples);
    }

    /// A figure of one measurement.
    ///
    /// @param what what was measured
    /// @param value the number
    /// @param unit its unit
    /// @return a figure without a goal
    public static Figure of(String what, double value, String unit) {
        return of(what, new Samples(List.of(value)), unit);
    }

    /// A figure that counts things.
    ///
    /// @param what what was counted
    /// @param number how many there are
    /// @return a figure without a goal and without a unit
    public static Figure count(String what, long number) {
        return of(what, (double) number, "");
    }

    /// {@return this figure, which should be that much or more}
    ///
    /// @param wanted the number that just meets the goal
    public Figure atLeast(double wanted) {
        return new Figure(what, value, unit, wanted, true, samples);
    }

    /// {@return this figure, which should be that much or less}
    ///
    /// @param wanted the number that just meets the goal
    public Figure atMost(double wanted) {
        return new Figure(what, value, unit, wanted, false, samples);
    }

    /// {@return whether the goal was reached; also true where there is none, and never for NaN where there is one}
    public boolean met() {
        return target == null || (isHigherBetter ? value >= target : value <= target);
    }
}
