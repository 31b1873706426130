package io.undercroft.cli;

import static io.undercroft.cli.Arguments.knownFile;

import io.undercroft.cli.internal.NameTree;
import io.undercroft.cli.internal.ProgressBar;
import io.undercroft.cli.internal.Savings;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cli.internal.inspect.JsonReport;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.Salvage;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SnapshotInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;

/// The commands that change a `.croft` file which grows by snapshots, or save what is intact in it.
final class GrowingCommands extends Commands {
    private static final String MESSAGE = "--message";
    private static final String KEEP = "--keep";

    GrowingCommands(TextOutput out, CommandRunner run) {
        super(out, run);
        add("append",
                "Appends the state of another file to a .croft file as its next snapshot, and reports which bytes "
                        + "were written.",
                () -> List.of(Arguments.file("FILE", "The .croft file to append to."), knownFile("SOURCE"),
                        Arguments.text(MESSAGE, "TEXT", "A message that is stored with the snapshot."),
                        Arguments.format(),
                        Arguments.setting(), Arguments.at(),
                        Arguments.root(), Arguments.location(), Arguments.base(), Arguments.whole(),
                        Arguments.sharing(), Arguments.compress(), Arguments.allowDangerous(), Arguments.allowPart(),
                        Arguments.large(), Arguments.json()),
                this::append);
        add("compact",
                "Rewrites a .croft file without the bytes that no snapshot uses. The new file has a new id: files that "
                        + "reference the old one do not accept it.",
                () -> List.of(Arguments.file("FILE", "A .croft file."),
                        Arguments.number(KEEP, "Keep only the newest N snapshots."),
                        Arguments.compressOlder(), Arguments.json()),
                this::compact);
        add("salvage",
                "Saves the intact tensors of a damaged .croft file, by name, and lists the damage. Exits with 4 if "
                        + "there is any.",
                () -> List.of(Arguments.file("FILE", "A .croft file."),
                        Arguments.file("TARGET", "The .croft file to write."), Arguments.at(), Arguments.root(),
                        Arguments.otherFile(), Arguments.json()),
                this::salvage);
    }

    private int append(Arguments arguments) {
        Path file = arguments.path(0);
        if (!Files.exists(file)) {
            return run.fail(CommandRunner.MISSING,
                    "%s: there is no such file to append to. Create it with croft convert".formatted(file));
        }
        int code = run.of(file, () -> {
            SnapshotInfo _ = newest(file);
            return CommandRunner.OK;
        });
        if (code != CommandRunner.OK) {
            return code;
        }
        return saver.save(arguments.path(1), file, arguments, (checkpoint, options) -> {
            DedupReport report;
            try (CroftFile growing = CroftFile.open(file)) {
                report = growing.commit(checkpoint.tree(),
                        options.time(Instant.now()).message(arguments.text(MESSAGE).orElse("")));
            }
            long snapshot = newest(file).commit();
            long nbytes = Files.size(file);
            run.say(arguments, "%s (%s) -> %s (snapshot %d, %s): %s".formatted(checkpoint.location(),
                    checkpoint.format(), file, snapshot, Text.bytes(nbytes),
                    Saver.contents(checkpoint) + Saver.leftOut(report)), json -> {
                        Saver.write(json, checkpoint, Saver.readable(checkpoint), checkpoint.storages().size());
                        json.member("target", file.toString()).member("snapshot", snapshot).member("nbytes", nbytes);
                        Savings.write(json, report);
                    });
            if (!arguments.has(Arguments.JSON)) {
                Savings.print(report, out);
            }
            return saver.noteLeftOut(checkpoint, file, arguments);
        });
    }

    private static SnapshotInfo newest(Path file) throws IOException {
        return IntegrityChecks.snapshot(file, OpenOptions.defaults().onMeta());
    }

    private int compact(Arguments arguments) {
        Path file = arguments.path(0);
        long keep = arguments.number(KEEP, Long.MAX_VALUE);
        if (keep < 1) {
            return run.complain(file + ": at least 1 snapshot has to be kept");
        }
        return run.of(file, () -> {
            long count = IntegrityChecks.snapshot(file, arguments.openingOnMeta()).sequence();
            return run.writing(file, () -> compact(file, keep, count, arguments));
        });
    }

    private int compact(Path file, long keep, long count, Arguments arguments) throws IOException {
        long saved;
        try (ProgressBar bar = ProgressBar.onTerminal();
                CroftFile growing = CroftFile.open(file,
                        SaveOptions.defaults().progress(bar).compress(arguments.compression()),
                        OpenOptions.defaults())) {
            saved = growing.compact(snapshot -> snapshot.sequence() > count - keep);
        }
        long nbytes = Files.size(file);
        long left = Math.min(keep, count);
        run.say(arguments, "%s: %s, %s".formatted(file, Text.count(left, "snapshot"), difference(saved, nbytes)),
                json -> json.member("file", file.toString()).member("snapshots", left).member("nbytes", nbytes)
                        .member("saved_nbytes", saved));
        return CommandRunner.OK;
    }

    private static String difference(long saved, long size) {
        String now = Text.bytes(size);
        return saved == 0
                ? now + " as before"
                : now + ", " + (saved > 0
                        ? Text.bytes(saved) + " less than before"
                        : Text.bytes(-saved) + " more than before");
    }

    private int salvage(Arguments arguments) {
        Path source = arguments.path(0);
        Path target = arguments.path(1);
        if (!Targets.isCroft(target)) {
            return Targets.refuse("TARGET", target, run);
        }
        return run.of(source, () -> {
            if (Targets.isSame(source, target)) {
                return Targets.refuseSame(source, "TARGET", run);
            }
            try (ProgressBar bar = ProgressBar.onTerminal();
                    CroftFile file = CroftFile.open(source, SaveOptions.defaults(),
                            arguments.opening().progress(bar));
                    Salvage salvage = file.salvage()) {
                bar.erase();
                NameTree intact = new NameTree();
                salvage.names().forEach(name -> intact.put(name, salvage.tensor(name)));
                int code = run.writing(target, () -> {
                    try (ProgressBar saving = ProgressBar.onTerminal()) {
                        Checkpoint.save(target, intact.root(), SaveOptions.defaults().progress(saving));
                    }
                    return CommandRunner.OK;
                });
                return code == CommandRunner.OK ? tell(source, target, salvage, arguments) : code;
            }
        });
    }

    private int tell(Path source, Path target, Salvage salvage, Arguments arguments) throws IOException {
        int intact = salvage.names().size();
        long snapshot = salvage.snapshot().commit();
        long nbytes = Files.size(target);
        run.say(arguments, "%s (snapshot %d, %s) -> %s (%s): %d of %s".formatted(source, snapshot,
                Text.bytes(Files.size(source)), target, Text.bytes(nbytes), intact,
                Text.count(intact + salvage.damagedNames().size(), "tensor")),
                json -> json.member("source", source.toString()).member("snapshot", snapshot)
                        .member("target", target.toString()).member("nbytes", nbytes).member("tensors", intact)
                        .values("left_out", salvage.damagedNames())
                        .list("damages", salvage.damages(), JsonReport::write));
        salvage.skippedCommit().ifPresent(why -> run.noteSkippedCommit(source, salvage.snapshot(), why));
        IntegrityChecks.list(source, salvage.damages(), run);
        if (!salvage.damagedNames().isEmpty()) {
            run.note("%s: left out: %s".formatted(source, Text.names(salvage.damagedNames())));
        }
        int code = salvage.skippedCommit().isEmpty() ? CommandRunner.OK : CommandRunner.DAMAGED;
        return run.worse(code, run.ofEach(salvage.damages(), IntegrityChecks::code));
    }
}
