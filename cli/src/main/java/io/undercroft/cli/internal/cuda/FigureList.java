package io.undercroft.cli.internal.cuda;

import static io.undercroft.cli.internal.Table.left;
import static io.undercroft.cli.internal.Table.right;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.Table;
import io.undercroft.cli.internal.TextOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// The figures of a run: a table, and a JSON object like that of `benchmarks/run`, whose types the command cannot use.
final class FigureList {
    private final boolean isStandIn;
    private final List<Figure> figures = new ArrayList<>();
    private final Map<String, String> notMeasured = new LinkedHashMap<>();
    private final Map<String, String> environment = new LinkedHashMap<>();

    /// An empty list.
    ///
    /// @param isStandIn whether there is no GPU, so that rates have no meaning and no targets
    FigureList(boolean isStandIn) {
        this.isStandIn = isStandIn;
    }

    void add(Figure figure) {
        figures.add(isStandIn && !figure.unit().isEmpty() ? figure.withoutTarget() : figure);
    }

    /// Reports that something was not measured.
    ///
    /// @param what its name
    /// @param why the reason
    void omit(String what, String why) {
        notMeasured.put(what, why);
    }

    void environment(String key, String value) {
        environment.put(key, value);
    }

    boolean isMet() {
        return figures.stream().allMatch(Figure::isMet);
    }

    /// Writes the table and, as the last line, the JSON object.
    void print(TextOutput out) throws IOException {
        out.line("");
        Table table = new Table(left(isStandIn ? "with a stand-in, not with a GPU" : "measured"), right("median"),
                left("unit"), right("lowest"), right("highest"), left("target"));
        for (Figure figure : figures) {
            List<Double> sorted = figure.samples().stream().sorted().toList();
            boolean isRepeated = sorted.size() > 1;
            table.row(figure.what(), number(figure.median()), figure.unit(),
                    isRepeated ? number(sorted.getFirst()) : "", isRepeated ? number(sorted.getLast()) : "",
                    target(figure));
        }
        table.print(out);
        notMeasured.forEach((what, why) -> out.line("not measured: " + what + ": " + why));
        out.line("");
        environment.forEach((key, value) -> out.line(key + ": " + value));
        printJson(out);
    }

    private static String target(Figure figure) {
        return figure.target() == null
                ? ""
                : (figure.isHigherBetter() ? ">= " : "<= ") + number(figure.target())
                        + (figure.isMet() ? " met" : " MISSED");
    }

    private static String number(double value) {
        boolean isWhole = value == Math.rint(value) && Math.abs(value) < 1e15;
        return isWhole ? Long.toString((long) value) : String.format(Locale.ROOT, "%.4g", value);
    }

    private void printJson(TextOutput out) throws IOException {
        Json.printLine(out, json -> json.member("name", isStandIn ? "cuda-check without a GPU" : "cuda-check")
                .list("figures", figures, FigureList::write).texts("not_measured", notMeasured)
                .texts("env", environment));
    }

    private static void write(Json json, Figure figure) throws IOException {
        boolean hasTarget = figure.target() != null;
        json.member("what", figure.what()).member("value", figure.median()).member("unit", figure.unit())
                .member("target", figure.target())
                .member("better", hasTarget ? figure.isHigherBetter() ? "higher" : "lower" : null)
                .member("met", hasTarget ? figure.isMet() : null).values("samples", figure.samples());
    }

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
}
