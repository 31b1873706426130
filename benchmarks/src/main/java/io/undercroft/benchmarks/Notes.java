package io.undercroft.benchmarks;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// Numbers that are noted by name while a benchmark runs.
final class Notes {
    private final Map<String, List<Double>> numbers = new LinkedHashMap<>();

    /// Adds a number.
    ///
    /// @param what its name
    void add(String what, double number) {
        numbers.computeIfAbsent(what, _ -> new ArrayList<>()).add(number);
    }

    /// {@return the names, in the order in which they were first used}
    Set<String> names() {
        return numbers.keySet();
    }

    /// {@return all numbers with a name}
    Samples of(String what) {
        return new Samples(numbers.getOrDefault(what, List.of()));
    }

    /// {@return the last numbers with a name: those before were noted while something warmed up}
    ///
    /// @param count how many, those of the counted rounds
    Samples last(String what, int count) {
        List<Double> values = of(what).values();
        return new Samples(values.subList(values.size() - count, values.size()));
    }
}
