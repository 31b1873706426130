package io.undercroft.cli;

import static io.undercroft.cli.Arguments.flag;
import static io.undercroft.cli.Arguments.knownFile;
import static io.undercroft.cli.Arguments.knownFiles;

import io.undercroft.cli.internal.DiffReport;
import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.JsonFiles;
import io.undercroft.cli.internal.ProgressBar;
import io.undercroft.cli.internal.Sha256;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cli.internal.inspect.Inspection;
import io.undercroft.cli.internal.inspect.JsonReport;
import io.undercroft.cli.internal.inspect.SnapshotList;
import io.undercroft.cli.internal.inspect.TextReport;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SnapshotInfo;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.internal.analysis.ElementBudget;
import io.undercroft.serializer.internal.analysis.NamedTensors;
import io.undercroft.serializer.internal.analysis.Sizes;
import io.undercroft.serializer.internal.analysis.StateDiff;
import io.undercroft.serializer.internal.analysis.ValueDiff;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Setting;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/// The commands that show what files hold or how they differ, and change nothing.
final class ReadingCommands extends Commands {
    private static final String STATS = "--stats";

    ReadingCommands(TextOutput out, CommandRunner run) {
        super(out, run);
        add("inspect", "Shows what files hold, and which tensors share a storage.",
                () -> List.of(knownFiles(), Arguments.json(),
                        flag("--hash", "Add the SHA-256 of every tensor and storage."), PageFile.option(),
                        Arguments.large(), Arguments.only(), Arguments.sort(), Arguments.at(),
                        Arguments.root(), Arguments.otherFile(), Arguments.location(), Arguments.format(),
                        Arguments.setting()),
                this::inspect);
        add("snapshots", "Lists the snapshots of a .croft file, the newest first.",
                () -> List.of(Arguments.file("FILE", "A .croft file."),
                        Arguments.json(), Arguments.setting()),
                this::snapshots);
        add("verify",
                "Checks the structure of files and reads all bytes that have checksums; says how many have none, which "
                        + "are not read. Exits with 0 if no damage was found, 4 if a file is damaged, and 3 if no "
                        + "damage was found but a file, or another file that it references, is missing or --root was "
                        + "not given.",
                () -> List.of(knownFiles(),
                        Arguments.json(),
                        Arguments.number("--at", "Only snapshot N and those before it."), Arguments.root(),
                        Arguments.otherFile(), Arguments.format(), Arguments.setting()),
                this::verify);
        add("formats", "Lists the formats, and their settings.",
                () -> List.of(Arguments.json()), this::formats);
        add("diff",
                "Compares the tensors and the other values of two files of any format. Exits with 0 if names, dtypes, "
                        + "shapes, elements, shared storages and values are the same, and 5 if they differ. Between "
                        + ".croft files, equal bytes are recognised by their digests and not read.",
                () -> List.of(knownFile("A"), knownFile("B"),
                        flag(STATS, "Count the elements that differ, and compute the largest and the mean absolute "
                                + "difference, also if the dtypes differ."),
                        Arguments.json(), Arguments.large(),
                        Arguments.only(),
                        Arguments.atOfTwo(), Arguments.root(), Arguments.otherFile(), Arguments.format(),
                        Arguments.setting()),
                this::diff);
    }

    private int inspect(Arguments arguments) {
        List<Path> files = arguments.paths(0);
        Optional<String> misuse = PageFile.misuse(arguments, files);
        if (misuse.isPresent()) {
            return run.complain(misuse.get());
        }
        return run.ofFiles(arguments,
                (file, json) -> inspect(file, arguments, !file.equals(files.getFirst()), json));
    }

    private int inspect(Path file, Arguments arguments, boolean isNext, JsonFiles json) {
        return run.of(file, () -> {
            boolean hashes = arguments.has("--hash");
            try (ProgressBar bar = ProgressBar.onTerminal();
                    Checkpoint checkpoint = Inputs.open(file, arguments.opening().progress(bar));
                    Sha256 digests = hashes ? new Sha256(Saver.budget(arguments, checkpoint)) : null) {
                Verification verification = hashes ? checkpoint.verify() : null;
                bar.erase();
                run.noteSkippedCommit(checkpoint);
                run.noteUnusedRoot(checkpoint, arguments);
                Inspection all = new Inspection(checkpoint, digests, arguments.absentDevices());
                Inspection inspection = arguments.order().map(all::sorted).orElse(all);
                if (digests != null) {
                    hash(inspection, arguments.has(Arguments.JSON) || arguments.path(PageFile.HTML).isPresent(),
                            digests);
                }
                Optional<Path> page = arguments.path(PageFile.HTML);
                if (page.isPresent()) {
                    bar.erase();
                    int code = PageFile.write(inspection, file, page.get(), run);
                    if (code != CommandRunner.OK) {
                        return code;
                    }
                } else if (arguments.has(Arguments.JSON)) {
                    JsonReport.print(inspection, json);
                } else {
                    if (isNext) {
                        out.line("");
                    }
                    TextReport.print(inspection, out);
                }
                IntegrityChecks.noteDangerous(checkpoint, run);
                int code = IntegrityChecks.noteUnreadable(checkpoint, inspection.unreadable(), run);
                return verification == null || digests == null
                        ? code
                        : run.worse(code, noteNotHashed(checkpoint, verification, digests));
            }
        });
    }

    /// Computes the digests before any is printed, so that progress can be shown.
    private static void hash(Inspection inspection, boolean hashesStorages, Sha256 digests) {
        try (ProgressBar bar = ProgressBar.onTerminal()) {
            digests.computeAll(hashesStorages ? inspection.readableStorages() : List.of(),
                    inspection.tensors().values(), bar);
        }
    }

    /// Says why digests are missing.
    private int noteNotHashed(Checkpoint checkpoint, Verification verification, Sha256 digests) {
        int code = IntegrityChecks.noteUnread(checkpoint, verification, digests.failures(), run);
        return digests.refused() == 0
                ? code
                : run.worse(code, run.fail(CommandRunner.MISSING, "%s: %s: %s".formatted(checkpoint.location(),
                        Text.count(digests.refused(), "digest") + " left out",
                        digests.budget().refusal() + "; " + Arguments.LARGE + " allows it")));
    }

    private int snapshots(Arguments arguments) {
        Path file = arguments.path(0);
        return run.of(file, () -> {
            try (Checkpoint checkpoint = Inputs.open(file, arguments.openingOnMeta())) {
                IntegrityChecks.requireSnapshot(checkpoint);
                run.noteSkippedCommit(checkpoint);
                List<SnapshotInfo> snapshots = checkpoint.snapshots();
                run.print(arguments, json -> SnapshotList.write(json, snapshots),
                        text -> SnapshotList.print(snapshots, text));
            }
            return CommandRunner.OK;
        });
    }

    private int formats(Arguments arguments) {
        return run.of(() -> {
            run.print(arguments, ReadingCommands::writeFormats, ReadingCommands::printFormats);
            return CommandRunner.OK;
        });
    }

    private static void printFormats(TextOutput out) {
        out.line("%-18s %-33s %s".formatted("format", "suffixes of names", "capabilities"));
        for (CheckpointFormat format : Checkpoint.formats()) {
            out.line("%-18s %-33s %s".formatted(format.name(), String.join(" ", format.suffixes()),
                    capabilities(format)).stripTrailing());
        }
        out.line("");
        out.line("%-22s %-12s %s".formatted("setting", "for files", "values, the default first"));
        settings().forEach(setting -> out.line("%-22s %-12s %s".formatted(setting.name(), switch (setting.use()) {
            case OPENING -> "opened";
            case WRITING -> "written";
        }, setting.values())));
    }

    private static List<Setting> settings() {
        return Checkpoint.formats().stream().flatMap(format -> format.settings().stream()).distinct().toList();
    }

    private static String capabilities(CheckpointFormat format) {
        return format.capabilities().stream().sorted().map(capability -> switch (capability) {
            case SAVE -> "can be written";
            case SHARING -> "keeps sharing";
            case STATE -> "maps, lists and scalars";
            case METADATA -> "metadata";
            case SEVERAL_FILES -> "index of several files";
            case CHECKSUMS -> "checksums";
        }).collect(Collectors.joining(", "));
    }

    private int verify(Arguments arguments) {
        return run.ofFiles(arguments, (file, json) -> verify(file, arguments, json));
    }

    private int verify(Path file, Arguments arguments, JsonFiles json) {
        return run.of(file, () -> {
            // Whatever device its storages are for, its bytes are in the file.
            try (ProgressBar bar = ProgressBar.onTerminal();
                    Checkpoint checkpoint = Inputs.open(file, arguments.openingOnCpu().progress(bar))) {
                Verification verification = checkpoint.verify();
                bar.erase();
                if (arguments.has(Arguments.JSON)) {
                    JsonReport.printVerification(checkpoint, verification, json);
                }
                if (!verification.damages().isEmpty()) {
                    return IntegrityChecks.tell(Inputs.shown(file), verification, run);
                }
                run.noteUnusedRoot(checkpoint, arguments);
                run.noteUnread(checkpoint);
                IntegrityChecks.noteDangerous(checkpoint, run);
                long unknown = Sizes.sum(checkpoint.unread().stream().filter(part -> part.kind() == Kind.BYTES)
                        .mapToLong(UnreadPart::nbytes));
                if (unknown > 0) {
                    return run.fail(CommandRunner.DAMAGED,
                            "%s: %s belong to nothing that the format has, and were not checked. "
                                    .formatted(Inputs.shown(file), Text.bytes(unknown))
                                    + "No damage was found in the rest");
                }
                return tell(checkpoint, verification, arguments.has(Arguments.JSON) ? _ -> {} : run::say);
            }
        });
    }

    private int tell(Checkpoint checkpoint, Verification verification, Consumer<String> result) {
        String contents = "(%s, %s, %s)".formatted(checkpoint.format(), Text.size(checkpoint),
                Saver.contents(checkpoint));
        if (!verification.missingBases().isEmpty()) {
            result.accept("%s: what was checked is not damaged %s; not checked: %s in other files".formatted(
                    checkpoint.location(), contents, Text.bytes(verification.unverifiedBytes())));
            IntegrityChecks.noteMissing(checkpoint.location(), verification.missingBases(), run);
            return CommandRunner.MISSING;
        }
        if (verification.isComplete()) {
            result.accept("%s: no damage found %s".formatted(checkpoint.location(), contents));
        } else {
            result.accept("%s: its structure is valid %s; not checked: %s that have no checksums".formatted(
                    checkpoint.location(), contents, Text.bytes(verification.unverifiedBytes())));
        }
        return CommandRunner.OK;
    }

    private static void writeFormats(Json all) throws IOException {
        all.list("formats", Checkpoint.formats(), (json, format) -> json.member("name", format.name())
                .values("suffixes", format.suffixes())
                .values("capabilities", format.capabilities().stream().sorted().map(ReadingCommands::word).toList()))
                .list("settings", settings(), (json, setting) -> json.member("name", setting.name())
                        .member("use", word(setting.use())).member("values", setting.values()));
    }

    private static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
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
        run.print(arguments, json -> DiffReport.write(json, diff), text -> DiffReport.print(diff, text));
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
