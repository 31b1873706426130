package io.undercroft.cli.internal.cuda;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// A number that was measured.
///
/// @param what the name of the measurement
/// @param samples the single measurements, in order; at least one
/// @param unit for instance `GiB/s`, or `x` for a ratio
/// @param target the target, or null
/// @param isHigherBetter whether the target is reached by what is higher
record Figure(String what, List<Double> samples, String unit, @Nullable Double target, boolean isHigherBetter) {
    Figure {
        samples = List.copyOf(samples);
    }

    static Figure of(String what, List<Double> samples, String unit) {
        return new Figure(what, samples, unit, null, true);
    }

    static Figure of(String what, long count) {
        return of(what, List.of((double) count), "");
    }

    /// {@return the ratios of some measurements to others, round by round}
    ///
    /// @param what its name
    /// @param samples the ones
    /// @param others the others, taken in the same rounds
    static Figure ratio(String what, List<Double> samples, List<Double> others) {
        List<Double> ratios = new ArrayList<>();
        for (int i = 0; i < samples.size(); i++) {
            ratios.add(samples.get(i) / others.get(i));
        }
        return of(what, ratios, "x");
    }

    Figure atLeast(double wanted) {
        return new Figure(what, samples, unit, wanted, true);
    }

    Figure atMost(double wanted) {
        return new Figure(what, samples, unit, wanted, false);
    }

    Figure withoutTarget() {
        return new Figure(what, samples, unit, null, true);
    }

    /// {@return the middle measurement, or the mean of the two in the middle}
    double median() {
        List<Double> sorted = samples.stream().sorted().toList();
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }

    /// {@return whether the target is reached, or there is none}
    boolean isMet() {
        return target == null || (isHigherBetter ? median() >= target : median() <= target);
    }
}
