package io.undercroft.benchmarks;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/// The results of a benchmark or a proof.
///
/// @param name its name, as it is given to `run`
/// @param figures what was measured
/// @param environment where: versions, processors, file system
public record Report(String name, List<Figure> figures, Map<String, String> environment) {
    private static final int WIDTH = 88;

    /// {@return whether every goal was reached}
    public boolean met() {
        return figures.stream().allMatch(Figure::met);
    }

    /// Prints a table and, as the last line, the JSON object.
    ///
    /// @param out where to
    public void print(PrintStream out) {
        table().forEach(out::println);
        out.println(json());
    }

    /// {@return the report for people, line by line}
    List<String> table() {
        List<String> lines = new ArrayList<>();
        environment.forEach((key, value) -> lines.add(key + ": " + value));
        lines.add("");
        lines.add(row(name, "median", "unit", "quartiles", "target"));
        for (Figure figure : figures) {
            Samples samples = figure.samples();
            String spread = samples.values().size() < 2
                    ? ""
                    : number(samples.quantile(0.25)) + " .. " + number(samples.quantile(0.75));
            lines.add(row(figure.what(), number(figure.value()), figure.unit(), spread, target(figure)));
        }
        lines.add("");
        return lines;
    }

    private static String row(String what, String value, String unit, String spread, String target) {
        return String.format(Locale.ROOT, "%-" + WIDTH + "s %10s %-6s %-20s %s", what, value, unit, spread, target)
                .stripTrailing();
    }

    private static String target(Figure figure) {
        return figure.target() == null
                ? ""
                : (figure.isHigherBetter() ? ">= " : "<= ") + number(figure.target())
                        + (figure.met() ? " met" : " MISSED");
    }

    /// Whole numbers as they are, others with four digits that count.
    private static String number(double value) {
        boolean whole = value == Math.rint(value) && Math.abs(value) < 1e15;
        return whole ? Long.toString((long) value) : String.format(Locale.ROOT, "%.4g", value);
    }

    /// {@return the report for programs: one line}
    String json() {
        var text = new StringWriter();
        try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
            json.writeStartObject();
            json.writeStringField("name", name);
            json.writeArrayFieldStart("figures");
            for (Figure figure : figures) {
                write(json, figure);
            }
            json.writeEndArray();
            json.writeObjectFieldStart("env");
            for (var entry : environment.entrySet()) {
                json.writeStringField(entry.getKey(), entry.getValue());
            }
            json.writeEndObject();
            json.writeEndObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return text.toString();
    }

    private static void write(JsonGenerator json, Figure figure) throws IOException {
        json.writeStartObject();
        json.writeStringField("what", figure.what());
        json.writeNumberField("value", figure.value());
        json.writeStringField("unit", figure.unit());
        boolean hasTarget = figure.target() != null;
        json.writePOJOField("target", figure.target());
        json.writePOJOField("better", hasTarget ? figure.isHigherBetter() ? "higher" : "lower" : null);
        json.writePOJOField("met", hasTarget ? figure.met() : null);
        json.writeArrayFieldStart("samples");
        for (double sample : figure.samples().values()) {
            json.writeNumber(sample);
        }
        json.writeEndArray();
        json.writeEndObject();
    }
}
