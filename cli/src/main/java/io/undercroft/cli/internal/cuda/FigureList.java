package io.undercroft.cli.internal.cuda;

import static io.undercroft.cli.internal.Table.left;
import static io.undercroft.cli.internal.Table.right;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Table;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

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

    /// Says that something was not measured.
    ///
    /// @param what what it is
    /// @param why why not
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
    void print(Output out) throws IOException {
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

    private void printJson(Output out) throws IOException {
        JsonGenerator json = new JsonFactory().createGenerator(out)
                .disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
        json.writeStartObject();
        json.writeStringField("name", isStandIn ? "cuda-check without a GPU" : "cuda-check");
        json.writeArrayFieldStart("figures");
        for (Figure figure : figures) {
            write(figure, json);
        }
        json.writeEndArray();
        json.writeObjectFieldStart("not_measured");
        writeTexts(notMeasured, json);
        json.writeObjectFieldStart("env");
        writeTexts(environment, json);
        json.writeEndObject();
        json.close();
        out.line("");
    }

    private static void writeTexts(Map<String, String> texts, JsonGenerator json) throws IOException {
        for (Map.Entry<String, String> text : texts.entrySet()) {
            json.writeStringField(text.getKey(), text.getValue());
        }
        json.writeEndObject();
    }

    private static void write(Figure figure, JsonGenerator json) throws IOException {
        Double target = figure.target();
        json.writeStartObject();
        json.writeStringField("what", figure.what());
        json.writeNumberField("value", figure.median());
        json.writeStringField("unit", figure.unit());
        if (target == null) {
            json.writeNullField("target");
            json.writeNullField("better");
            json.writeNullField("met");
        } else {
            json.writeNumberField("target", target);
            json.writeStringField("better", figure.isHigherBetter() ? "higher" : "lower");
            json.writeBooleanField("met", figure.isMet());
        }
        json.writeArrayFieldStart("samples");
        for (double sample : figure.samples()) {
            json.writeNumber(sample);
        }
        json.writeEndArray();
        json.writeEndObject();
    }
}
