package io.undercroft.cli;

import static io.undercroft.cli.Arguments.flag;
import static io.undercroft.cli.Arguments.knownFiles;

import io.undercroft.cli.internal.JsonFiles;
import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.ProgressBar;
import io.undercroft.cli.internal.Sha256;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.inspect.FormatsJson;
import io.undercroft.cli.internal.inspect.Inspection;
import io.undercroft.cli.internal.inspect.JsonReport;
import io.undercroft.cli.internal.inspect.SnapshotList;
import io.undercroft.cli.internal.inspect.TextReport;
import io.undercroft.cli.internal.inspect.VerificationJson;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.analysis.Sizes;
import io.undercroft.serializer.spi.CheckpointFormat;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// The commands that show what a file holds and change nothing.
final class ReadingCommands {
    private static final String JSON = "--json";

    private final Output out;
    private final CommandRunner run;

    ReadingCommands(Output out, CommandRunner run) {
        this.out = out;
        this.run = run;
    }

    SequencedMap<String, Subcommand> all() {
        SequencedMap<String, Subcommand> commands = new LinkedHashMap<>();
        commands.put("inspect", new Subcommand("Shows what files hold, and which tensors share a storage.",
                () -> List.of(knownFiles(), Arguments.json(),
                        flag("--hash", "Add the SHA-256 of every tensor and storage."), PageFile.option(),
                        Arguments.large(), Arguments.only(), Arguments.sort(), Arguments.at(),
                        Arguments.root(), Arguments.otherFile(), Arguments.location(), Arguments.format(),
                        Arguments.setting()),
                this::inspect));
        commands.put("snapshots", new Subcommand("Lists the snapshots of a .croft file, the newest first.",
                () -> List.of(Arguments.file("FILE", "A .croft file."),
                        flag(JSON, "Print one JSON object (docs/inspect-json.md)."), Arguments.setting()),
                this::snapshots));
        commands.put("verify", new Subcommand(
                "Checks the structure of files and reads all bytes that have checksums; says how many have none, which "
                        + "are not read. Exits with 0 if no damage was found, 4 if a file is damaged, and 3 if no "
                        + "damage was found but a file, or another file that it references, is missing or --root was "
                        + "not given.",
                () -> List.of(knownFiles(),
                        Arguments.json(),
                        Arguments.number("--at", "Only snapshot N and those before it."), Arguments.root(),
                        Arguments.otherFile(), Arguments.format(), Arguments.setting()),
                this::verify));
        commands.put("formats",
                new Subcommand("Lists the formats, and their settings.",
                        () -> List.of(flag(JSON, "Print one JSON object (docs/inspect-json.md).")), this::formats));
        return commands;
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
                    hash(inspection, arguments.has(JSON) || arguments.path(PageFile.HTML).isPresent(), digests);
                }
                Optional<Path> page = arguments.path(PageFile.HTML);
                if (page.isPresent()) {
                    bar.erase();
                    int code = PageFile.write(inspection, file, page.get(), run);
                    if (code != CommandRunner.OK) {
                        return code;
                    }
                } else if (arguments.has(JSON)) {
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
                if (arguments.has(JSON)) {
                    SnapshotList.printJson(checkpoint.snapshots(), out);
                } else {
                    SnapshotList.print(checkpoint.snapshots(), out);
                }
            }
            return CommandRunner.OK;
        });
    }

    private int formats(Arguments arguments) {
        return run.of(() -> {
            if (arguments.has(JSON)) {
                FormatsJson.print(out);
                return CommandRunner.OK;
            }
            out.line("%-18s %-33s %s".formatted("format", "suffixes of names", "capabilities"));
            for (CheckpointFormat format : Checkpoint.formats()) {
                out.line("%-18s %-33s %s".formatted(format.name(), String.join(" ", format.suffixes()),
                        capabilities(format)).stripTrailing());
            }
            printSettings();
            return CommandRunner.OK;
        });
    }

    private void printSettings() {
        out.line("");
        out.line("%-22s %-12s %s".formatted("setting", "for files", "values, the default first"));
        Checkpoint.formats().stream().flatMap(format -> format.settings().stream()).distinct()
                .map(setting -> "%-22s %-12s %s".formatted(setting.name(), switch (setting.use()) {
                    case OPENING -> "opened";
                    case WRITING -> "written";
                }, setting.values())).forEach(out::line);
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
                if (arguments.has(JSON)) {
                    VerificationJson.print(checkpoint, verification, json);
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
                return tell(checkpoint, verification, arguments.has(JSON) ? _ -> {} : run::say);
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
}
