package io.undercroft.benchmarks;

import java.util.List;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.IntStream;

/// Repeated measurements of one thing, in the order in which they were taken.
///
/// @param values the measurements, at least one
public record Samples(List<Double> values) {
    /// Copies the values.
    ///
    /// @throws IllegalArgumentException if there is none
    public Samples {
        values = List.copyOf(values);
        if (values.isEmpty()) {
            throw new IllegalArgumentException("no samples");
        }
    }

    /// {@return the middle value, or the mean of the two in the middle}
    public double median() {
        return quantile(0.5);
    }

    /// {@return the value that a part of the measurements stays below, interpolated between neighbours}
    ///
    /// @param part from 0 (the smallest) to 1 (the largest)
    public double quantile(double part) {
        double[] sorted = values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        double place = part * (sorted.length - 1);
        int below = (int) place;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
    }

    /// {@return every value changed by a function}
    ///
    /// @param change for instance from seconds to GiB/s
    public Samples map(DoubleUnaryOperator change) {
        return new Samples(values.stream().map(change::applyAsDouble).toList());
    }

    /// The ratios of these to others, round by round: a disturbance in a round affects both.
    ///
    /// @param others as many measurements, taken in the same rounds
    /// @return the ratios, in order
    /// @throws IllegalArgumentException if the numbers of measurements differ
    public Samples over(Samples others) {
        if (values.size() != others.values.size()) {
            throw new IllegalArgumentException(values.size() + " samples over " + others.values.size());
        }
        return new Samples(
                IntStream.range(0, values.size()).mapToObj(i -> values.get(i) / others.values.get(i)).toList());
    }
}
