package io.undercroft.cli;

import static io.undercroft.cli.Arguments.flag;
import static io.undercroft.cli.Arguments.knownFile;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.ProgressBar;
import io.undercroft.cli.internal.diff.DiffReport;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.analysis.ElementBudget;
import io.undercroft.serializer.analysis.NamedTensors;
import io.undercroft.serializer.analysis.StateDiff;
import io.undercroft.serializer.analysis.ValueDiff;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/// The command that compares two files.
final class DiffCommand {
    private static final String STATS = "--stats";

    private final Output out;
    private final CommandRunner run;

    DiffCommand(Output out, CommandRunner run) {
        this.out = out;
        this.run = run;
    }

    Subcommand command() {
        return new Subcommand(
                "Compares the tensors and the other values of two files of any format. Exits with 0 if names, dtypes, "
                        + "shapes, elements, shared storages and values are the same, and 5 if they differ. Between "
                        + ".croft files, equal bytes are recognised by their digests and not read.",
                () -> List.of(knownFile("A"), knownFile("B"),
                        flag(STATS, "Count the elements that differ, and compute the largest and the mean absolute "
                                + "difference, also if the dtypes differ."),
                        flag("--json", "Print one JSON object (docs/inspect-json.md)."), Arguments.large(),
                        Arguments.only(),
                        Arguments.atOfTwo(), Arguments.root(), Arguments.otherFile(), Arguments.format(),
                        Arguments.setting()),
                this::diff);
    }

    private int diff(Arguments arguments) {
        if (arguments.count(Arguments.AT) > 2) {
            return run.complain("--at: there are two files, and more than two snapshots. Give it once or twice");
        }
        Path a = arguments.path(0);
        Path b = arguments.path(1);
        return run.of(a, () -> {
            try (Checkpoint first = Inputs.open(a, arguments.openingOneOfTwo(0))) {
                run.noteSkippedCommit(first);
                return run.of(b, () -> {
                    try (Checkpoint second = Inputs.open(b, arguments.openingOneOfTwo(1))) {
                        run.noteSkippedCommit(second);
                        run.noteUnread(first);
                        run.noteUnread(second);
                        return diff(first, second, arguments);
                    }
                });
            }
        });
    }

    private int diff(Checkpoint a, Checkpoint b, Arguments arguments) throws IOException {
        StateDiff diff;
        ElementBudget budget = Saver.budget(arguments, a, b);
        try (ProgressBar bar = ProgressBar.onTerminal()) {
            diff = new StateDiff(new NamedTensors(a), new NamedTensors(b),
                    arguments.has(STATS), budget, bar);
        }
        if (arguments.has("--json")) {
            DiffReport.printJson(diff, out);
        } else {
            DiffReport.print(diff, out);
        }
        int code = run.ofEach(diff.notCompared(), each -> {
            FormatException fault = each.fault();
            return run.fail(fault == null ? CommandRunner.MISSING : CommandRunner.code(fault),
                    "the tensor %s was not compared: %s%s%s".formatted(FormatException.quote(each.name()), each.why(),
                            fault == null ? "" : " [" + fault.code() + "]",
                            each.why().equals(budget.refusal()) ? "; " + Arguments.LARGE + " allows it" : ""));
        });
        if (!diff.values().map(ValueDiff::isComplete).orElse(true)) {
            code = run.worse(code, run.fail(CommandRunner.MISSING, "there are more than ten million values beside the "
                    + "tensors, and only the first were compared"));
        }
        return code == CommandRunner.OK && diff.hasDifferences() ? CommandRunner.DIFFERENT : code;
    }
}
