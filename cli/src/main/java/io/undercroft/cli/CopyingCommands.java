package io.undercroft.cli;

import io.undercroft.cli.internal.NameTree;
import io.undercroft.cli.internal.Text;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CheckpointFile;
import io.undercroft.serializer.Salvage;
import io.undercroft.serializer.SaveOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import picocli.CommandLine.Model.ArgSpec;

/// The commands that make `.croft` files of snapshots that are there.
final class CopyingCommands {
    private static final String KEEP = "--keep";

    private final Run run;

    CopyingCommands(Run run) {
        this.run = run;
    }

    SequencedMap<String, Subcommand> all() {
        SequencedMap<String, Subcommand> commands = new LinkedHashMap<>();
        commands.put("compact", new Subcommand(
                "Replaces a .croft file by one without the room that nothing stands in. It is a new file then: who "
                        + "has the "
                        + "old one as a base does not take it.",
                () -> List.of(croftFile(), Arguments.number(KEEP, "Keep only the newest N snapshots.")),
                this::compact));
        commands.put("export", new Subcommand(
                "Copies one snapshot to a new file. What stands in other files stays there.",
                () -> List.of(croftFile(), target(), Arguments.at()),
                arguments -> copySnapshot(arguments, CheckpointFile::copy)));
        commands.put("flatten", new Subcommand(
                "Copies one snapshot to a new file that needs no other.",
                () -> List.of(croftFile(), target(), Arguments.at(), Arguments.root(), Arguments.otherFile()),
                arguments -> copySnapshot(arguments, CheckpointFile::copyWithBases)));
        commands.put("salvage", new Subcommand(
                "Saves the tensors of a damaged .croft file that are sound, by name, and lists the damage.",
                () -> List.of(croftFile(), target(), Arguments.at(), Arguments.root(), Arguments.otherFile()),
                this::salvage));
        return commands;
    }

    private static ArgSpec croftFile() {
        return Arguments.file("FILE", "A .croft file.");
    }

    private static ArgSpec target() {
        return Arguments.file("TARGET", "The .croft file to write.");
    }

    private int compact(Arguments arguments) {
        Path file = arguments.path(0);
        long keep = arguments.number(KEEP, Long.MAX_VALUE);
        if (keep < 1) {
            return run.complain(file + ": at least 1 snapshot has to be kept");
        }
        return run.writing(file, () -> {
            long newest = newest(file, arguments);
            long saved;
            try (CheckpointFile growing = CheckpointFile.open(file)) {
                saved = growing.compact(snapshot -> snapshot.sequence() > newest - keep);
            }
            run.say("%s: %s, %s".formatted(file, Text.count(Math.min(keep, newest), "snapshot"),
                    difference(saved, Files.size(file))));
            return Run.OK;
        });
    }

    private static long newest(Path file, Arguments arguments) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, arguments.openingOnMeta())) {
            return Soundness.requireSnapshot(checkpoint).sequence();
        }
    }

    private static String difference(long saved, long size) {
        String now = Text.bytes(size);
        return saved == 0
                ? now + " as before"
                : now + ", " + (saved > 0
                        ? Text.bytes(saved) + " less than before"
                        : Text.bytes(-saved) + " more than before");
    }

    private interface Body {
        int run(Path source, Path target) throws IOException;
    }

    /// Runs a body that makes the second file of the first one.
    private int copy(Arguments arguments, Body body) {
        Path source = arguments.path(0);
        Path target = arguments.path(1);
        if (!Targets.isCroft(target)) {
            return Targets.refuse("TARGET", target, run);
        }
        return run.of(source, () -> Targets.isSame(source, target)
                ? run.complain(source + ": source and target are the same file. Give TARGET another name")
                : body.run(source, target));
    }

    private interface SnapshotCopy {
        void run(CheckpointFile source, Path target, long commit) throws IOException;
    }

    private int copySnapshot(Arguments arguments, SnapshotCopy body) {
        return copy(arguments, (source, target) -> {
            long number;
            try (Checkpoint checkpoint = Checkpoint.open(source, arguments.openingOnMeta())) {
                number = Soundness.requireSnapshot(checkpoint).commit();
                run.notePassedOver(checkpoint);
            }
            return run.writing(target, () -> {
                try (CheckpointFile file = CheckpointFile.open(source, SaveOptions.defaults(), arguments.opening())) {
                    body.run(file, target, number);
                }
                run.say("%s (snapshot %d, %s) -> %s (%s)".formatted(source, number, Text.bytes(Files.size(source)),
                        target, Text.bytes(Files.size(target))));
                return Run.OK;
            });
        });
    }

    private int salvage(Arguments arguments) {
        return copy(arguments, (source, target) -> {
            try (Salvage salvage = Checkpoint.salvage(source, arguments.opening())) {
                NameTree sound = new NameTree();
                salvage.names().forEach(name -> sound.put(name, salvage.tensor(name)));
                int code = run.writing(target, () -> {
                    Checkpoint.save(target, sound.root());
                    return Run.OK;
                });
                return code == Run.OK ? tell(source, target, salvage) : code;
            }
        });
    }

    private int tell(Path source, Path target, Salvage salvage) throws IOException {
        int sound = salvage.names().size();
        run.say("%s (snapshot %d, %s) -> %s (%s): %d of %s".formatted(source, salvage.snapshot().commit(),
                Text.bytes(Files.size(source)), target, Text.bytes(Files.size(target)), sound,
                Text.count(sound + salvage.damagedNames().size(), "tensor")));
        salvage.passedOver().ifPresent(why -> run.notePassedOver(source, salvage.snapshot(), why));
        Soundness.list(source, salvage.damages(), run);
        if (!salvage.damagedNames().isEmpty()) {
            run.note("%s: left out: %s".formatted(source, Text.names(salvage.damagedNames())));
        }
        return salvage.damages().isEmpty() && salvage.passedOver().isEmpty() ? Run.OK : Run.BAD_INPUT;
    }
}
