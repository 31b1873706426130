package io.undercroft.cli;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.ProgressBar;
import io.undercroft.cli.internal.Savings;
import io.undercroft.cli.internal.StandardInput;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.analysis.ElementBudget;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.Unreadable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.SequencedMap;

/// The common part of commands that open a file and save its state.
final class Saver {
    static final String REPORT = "--report";

    private final TextOutput out;
    private final CommandRunner run;

    Saver(TextOutput out, CommandRunner run) {
        this.out = out;
        this.run = run;
    }

    interface Save {
        int run(Checkpoint source, SaveOptions options) throws IOException;
    }

    /// Opens a file that is intact, and saves it under a name that messages get unless they name a file themselves.
    int save(Path source, Path target, Arguments arguments, Save body) {
        for (Path base : arguments.basesBut(source)) {
            int code = run.of(base, () -> open(base));
            if (code != CommandRunner.OK) {
                return code;
            }
        }
        return run.of(source, () -> {
            try (Checkpoint checkpoint = Inputs.open(source, arguments.opening(source))) {
                IntegrityChecks.requireBeforeSaving(checkpoint);
                IntegrityChecks.requireChosen(checkpoint, arguments);
                IntegrityChecks.requireHarmless(checkpoint, arguments);
                return run.writing(target, () -> {
                    try (ProgressBar bar = ProgressBar.onTerminal()) {
                        return body.run(checkpoint,
                                arguments.saving(source).leavingOutUnreadable().metadata(checkpoint.metadata())
                                        .largest(largest(checkpoint, arguments))
                                        .progress(bar));
                    }
                });
            }
        });
    }

    /// Returns how many bytes of elements may be read of files.
    static ElementBudget budget(Arguments arguments, Checkpoint... checkpoints) {
        return arguments.has(Arguments.LARGE) ? ElementBudget.unlimited() : ElementBudget.of(checkpoints);
    }

    /// Returns how many bytes may be written of a file: a short one can have storages and tensors of any size.
    static long largest(Checkpoint checkpoint, Arguments arguments) {
        return budget(arguments, checkpoint).most();
    }

    /// Says what of a file is not in the one that was written.
    ///
    /// @param unreadable what is wrong with tensors that could not be read, by their names
    /// @return the most severe of their codes
    int noteLeftOut(Checkpoint source, Object target, SequencedMap<String, FormatException> unreadable,
            Arguments arguments) {
        run.noteUnread(source);
        if (!arguments.absentDevices().isEmpty()) {
            run.note("%s: it was saved from %s, which is not here; its bytes were taken to the CPU"
                    .formatted(source.location(), String.join(", ", arguments.absentDevices())));
        }
        return run.ofEach(List.copyOf(unreadable.sequencedEntrySet()), left -> run.fail(
                CommandRunner.code(left.getValue()), "%s: left out the tensor %s, which cannot be read: %s [%s]"
                        .formatted(target, FormatException.quote(left.getKey()), left.getValue().what(),
                                left.getValue().code())));
    }

    /// Says what of a file is not in the one to which its whole state was saved.
    int noteLeftOut(Checkpoint source, Object target, Arguments arguments) {
        return noteLeftOut(source, target, unreadable(source), arguments);
    }

    /// {@return what is wrong with the tensors of a file that cannot be read, by their names}
    static SequencedMap<String, FormatException> unreadable(Checkpoint checkpoint) {
        return Unreadable.in(StateIndex.of(checkpoint.tree()).tensors());
    }

    /// Reports a base that cannot be used by its name, before anything is written.
    private static int open(Path base) throws IOException {
        try (Checkpoint _ = Checkpoint.open(base, OpenOptions.defaults().onMeta())) {
            return CommandRunner.OK;
        }
    }

    static String contents(Checkpoint checkpoint) {
        return contents(readable(checkpoint), checkpoint.storages().size());
    }

    /// {@return how many tensors of a file can be read}
    static int readable(Checkpoint checkpoint) {
        return checkpoint.names().size() - unreadable(checkpoint).size();
    }

    static String contents(int tensors, int storages) {
        return Text.count(tensors, "tensor") + " on " + Text.count(storages, "storage");
    }

    /// {@return the part of a result line about bytes that were not saved, or an empty text}
    static String leftOut(DedupReport report) {
        return report.unreached() == 0
                ? ""
                : "; left out %s (%d bytes) that no tensor reaches, which --whole-storages keeps"
                        .formatted(Text.bytes(report.unreached()), report.unreached());
    }

    /// Writes the members that describe the source.
    static void write(Json json, Checkpoint source, int tensors, int storages) throws IOException {
        json.member("source", StandardInput.shown(source.location())).member("format", source.format())
                .member("tensors", tensors).member("storages", storages);
    }

    /// Prints a report of bytes written and reused, if it was requested. JSON output always contains it.
    void report(DedupReport report, Arguments arguments) {
        if (arguments.has(REPORT) && !arguments.has(Arguments.JSON)) {
            Savings.print(report, out);
        }
    }
}
