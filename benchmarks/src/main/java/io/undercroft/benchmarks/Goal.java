package io.undercroft.benchmarks;

/// The target of a figure.
///
/// @param target the number that just meets it
/// @param better which way is better
public record Goal(double target, Better better) {
    /// The direction in which a figure is better.
    public enum Better {
        /// The target or more.
        HIGHER,
        /// The target or less.
        LOWER
    }

    /// {@return a goal of that much or more}
    ///
    /// @param target the number that just meets it
    public static Goal atLeast(double target) {
        return new Goal(target, Better.HIGHER);
    }

    /// {@return a goal of that much or less}
    ///
    /// @param target the number that just meets it
    public static Goal atMost(double target) {
        return new Goal(target, Better.LOWER);
    }

    /// {@return whether a value reaches the goal; NaN never does}
    ///
    /// @param value what was measured
    public boolean isMetBy(double value) {
        return better == Better.HIGHER ? value >= target : value <= target;
    }
}
