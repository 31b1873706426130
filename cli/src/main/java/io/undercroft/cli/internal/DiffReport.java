package io.undercroft.cli.internal;

import static io.undercroft.cli.internal.Table.left;
import static io.undercroft.cli.internal.Table.right;
import static io.undercroft.cli.internal.Table.whole;

import io.undercroft.cli.internal.inspect.StateOutline;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SnapshotInfo;
import io.undercroft.serializer.internal.analysis.ElementDifferences;
import io.undercroft.serializer.internal.analysis.NamedTensors;
import io.undercroft.serializer.internal.analysis.StateDiff;
import io.undercroft.serializer.internal.analysis.ValueDiff;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StatePart;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The differences between two files, for people and for programs.
public final class DiffReport {
    private static final int SHOWN_CELL = 120;
    private static final int SHOWN_VALUES = 60;

    private DiffReport() {}

    /// Writes tables of the differences, and a line that counts them.
    ///
    /// @param diff the differences
    /// @param out the destination
    public static void print(StateDiff diff, TextOutput out) {
        out.line("A  " + describe(diff.a()));
        out.line("B  " + describe(diff.b()));
        printNames("only in A:", diff.onlyInA(), diff.a(), out);
        printNames("only in B:", diff.onlyInB(), diff.b(), out);
        if (!diff.changes().isEmpty()) {
            out.line("");
            Table table = new Table(left("changed"), whole("what"), whole("A"), whole("B"), right("elements"),
                    right("of all"), right("max. difference"), right("mean"), left(""));
            table.print(out, rows -> diff.changes().forEach(change -> rows.accept(row(diff, change))));
        }
        printTies("shared in A only:", diff.tiesOfA(), diff, out);
        printTies("shared in B only:", diff.tiesOfB(), diff, out);
        diff.values().ifPresent(values -> printValues(values, out));
        out.line("");
        out.line(summary(diff));
    }

    private static String describe(NamedTensors file) {
        Checkpoint checkpoint = file.checkpoint();
        return "%s (%s%s), %s".formatted(StandardInput.shown(checkpoint.location()),
                checkpoint.format(),
                checkpoint.snapshot().map(snapshot -> snapshot.commit() == SnapshotInfo.UNKNOWN
                        ? ""
                        : ", snapshot " + snapshot.commit()).orElse(""),
                Text.count(file.tensors().size(), "tensor"));
    }

    private static void printNames(String title, List<String> names, NamedTensors file, TextOutput out) {
        if (!names.isEmpty()) {
            out.line("");
            Table table = new Table(left(title), whole("dtype"), whole("shape"));
            names.forEach(name -> {
                Tensor tensor = StateDiff.tensorOf(file, name);
                table.row(file.typed(name), cell(tensor.dtype().name()), cell(tensor.shape().toString()));
            });
            table.print(out);
        }
    }

    private static String[] row(StateDiff diff, StateDiff.Change change) {
        boolean showsType = change.isOfOtherDType() || change.isOfOtherShape();
        ElementDifferences statistics = change.statistics();
        String other = change.other().equals(change.name()) ? "" : "in B: " + diff.b().typed(change.other());
        String[] row = {diff.a().typed(change.name()), String.join(", ", kinds(change)),
                showsType ? type(change.a()) : "", showsType ? type(change.b()) : "", "", "", "", "", other};
        if (statistics != null) {
            row[4] = "%,d".formatted(statistics.differing());
            row[5] = statistics.elements() == 0 ? "" : Text.percent(statistics.differing(), statistics.elements());
            row[6] = number(statistics.max());
            row[7] = number(statistics.mean());
            row[8] = statistics.notFinite() == 0
                    ? other
                    : Text.count(statistics.notFinite(), "element") + " not finite in A or B only "
                            + other;
        }
        return row;
    }

    private static List<String> kinds(StateDiff.Change change) {
        return Stream.of(change.isOfOtherDType() ? "dtype" : "",
                change.isOfOtherShape() ? "shape" : "", Boolean.TRUE.equals(change.values()) ? "values" : "")
                .filter(kind -> !kind.isEmpty()).toList();
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.4g", value);
    }

    private static String type(Tensor tensor) {
        return cell(tensor.dtype().name() + " " + tensor.shape());
    }

    private static String cell(String text) {
        return Text.shortened(text, SHOWN_CELL);
    }

    private static void printTies(String title, Set<List<String>> ties, StateDiff diff, TextOutput out) {
        if (!ties.isEmpty()) {
            out.line("");
            out.line(title);
            ties.forEach(names -> out.line("  " + Text.names(names.stream().map(diff.a()::typed).toList())));
        }
    }

    private static void printValues(ValueDiff values, TextOutput out) {
        if (!values.differences().isEmpty()) {
            out.line("");
            Table table = new Table(left("value"), whole("A"), whole("B"));
            values.differences().stream().limit(SHOWN_VALUES).forEach(each -> table.row(
                    cell(FormatException.printable(StateIndex.rawName(each.path()))), outline(each.a()),
                    outline(each.b())));
            table.print(out);
            long more = values.count() - SHOWN_VALUES;
            if (more > 0) {
                out.line("… and " + Text.number(more) + " more; --json lists them");
            }
        }
    }

    private static String outline(@Nullable StatePart part) {
        return part == null ? "" : StateOutline.of(part.value());
    }

    private static String summary(StateDiff diff) {
        String counts = "%s equal, %,d changed, %,d only in A, %,d only in B".formatted(
                Text.count(diff.equal(), "tensor"), diff.changes().size(), diff.onlyInA().size(),
                diff.onlyInB().size());
        int ties = diff.tiesOfA().size() + diff.tiesOfB().size();
        long values = diff.values().map(ValueDiff::count).orElse(0L);
        return counts + (values == 0
                ? ""
                : ", %s %s".formatted(Text.count(values, "value"), values == 1 ? "differs" : "differ"))
                + (ties == 0 ? "" : ", %s of sharing".formatted(Text.count(ties, "difference")))
                + (diff.notCompared().isEmpty() ? "" : ", %,d not compared".formatted(diff.notCompared().size()));
    }

    /// Writes the members of a JSON object, as `docs/inspect-json.md` describes it.
    ///
    /// @param json the object
    /// @param diff the differences
    /// @throws IOException if writing fails
    public static void write(Json json, StateDiff diff) throws IOException {
        json.object("a", file -> write(file, diff.a())).object("b", file -> write(file, diff.b()))
                .member("equal", diff.equal())
                .list("only_in_a", diff.onlyInA(),
                        (entry, name) -> write(entry, name, StateDiff.tensorOf(diff.a(), name)))
                .list("only_in_b", diff.onlyInB(),
                        (entry, name) -> write(entry, name, StateDiff.tensorOf(diff.b(), name)))
                .list("changed", diff.changes(), DiffReport::write)
                .list("not_compared", diff.notCompared(), (entry, each) -> entry.member("name", each.name())
                        .member("name_in_b", each.other()).member("what", each.why()))
                .list("shared_in_a", diff.tiesOfA(), (entry, names) -> entry.values("names", names))
                .list("shared_in_b", diff.tiesOfB(), (entry, names) -> entry.values("names", names))
                .list("values", diff.values().map(ValueDiff::differences).orElse(List.of()), DiffReport::write)
                .member("values_omitted", diff.values().map(ValueDiff::omitted).orElse(0L));
    }

    private static void write(Json json, ValueDiff.Difference value) throws IOException {
        json.member("path", value.path());
        write(json, "a", value.a());
        write(json, "b", value.b());
    }

    private static void write(Json json, String name, @Nullable StatePart part) throws IOException {
        if (part != null && part.value() instanceof Double number) {
            json.generator().writeFieldName(name);
            Json.writeDouble(json.generator(), number);
        } else if (part != null) {
            json.member(name, switch (part.value()) {
                case null -> null;
                case Boolean truth -> truth;
                case Number number -> number;
                case String text -> cell(text);
                case Object other -> StateOutline.of(other);
            });
        }
    }

    private static void write(Json json, NamedTensors file) throws IOException {
        Checkpoint checkpoint = file.checkpoint();
        json.member("file", StandardInput.shown(checkpoint.location())).member("format", checkpoint.format())
                .member("snapshot", checkpoint.snapshot().map(SnapshotInfo::commit).orElse(null))
                .member("tensors", file.tensors().size());
    }

    private static void write(Json json, String name, Tensor tensor) throws IOException {
        json.member("name", name);
        write(json, tensor);
    }

    private static void write(Json json, StateDiff.Change change) throws IOException {
        json.member("name", change.name()).member("name_in_b", change.other()).values("what", kinds(change))
                .object("a", type -> write(type, change.a())).object("b", type -> write(type, change.b()));
        ElementDifferences statistics = change.statistics();
        if (statistics != null) {
            json.object("statistics", counts -> counts.member("elements", statistics.elements())
                    .member("differing", statistics.differing()).member("not_finite", statistics.notFinite())
                    .member("max_abs", statistics.max()).member("mean_abs", statistics.mean()));
        }
    }

    private static void write(Json json, Tensor tensor) throws IOException {
        json.member("dtype", tensor.dtype().name()).numbers("shape", tensor.shape().toArray());
    }
}
