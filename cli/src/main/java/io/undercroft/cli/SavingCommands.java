package io.undercroft.cli;

import static io.undercroft.cli.Arguments.flag;
import static io.undercroft.cli.Arguments.knownFile;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.ProgressBar;
import io.undercroft.cli.internal.Savings;
import io.undercroft.cli.internal.Sizes;
import io.undercroft.cli.internal.Text;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.ExportOptions;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.Published;
import io.undercroft.serializer.SaveOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.atomic.AtomicLong;

/// The commands that open a file and save its state.
final class SavingCommands {
    private static final String STANDARD_OUTPUT = "-";
    private static final String REPORT = "--report";
    private static final String TO = "--to";
    private static final String MESSAGE = "--message";
    private static final String WRITABLE = "--writable";

    private final Output out;
    private final Run run;

    SavingCommands(Output out, Run run) {
        this.out = out;
        this.run = run;
    }

    SequencedMap<String, Subcommand> all() {
        SequencedMap<String, Subcommand> commands = new LinkedHashMap<>();
        commands.put("convert", new Subcommand(
                "Saves what a file holds as a .croft file, or as one of another format, atomically. A file of that name is replaced; "
                        + "a set of files (OUT ends in .safetensors.index.json) goes into a directory that has none of that name.",
                () -> List.of(knownFile("IN"),
                        Arguments.file("OUT",
                                "The file to write, in the format that its name ends in; or - for a .croft file on standard output."),
                        Arguments.text(TO, "NAME", "Write OUT in this format, whatever its name ends in."),
                        Arguments.format(), Arguments.setting(),
                        Arguments.at(), Arguments.root(), Arguments.location(), Arguments.base(), Arguments.whole(),
                        Arguments.sharing(), Arguments.chunk(), flag(REPORT, "Tell what became of the bytes.")),
                this::convert));
        commands.put("append", new Subcommand(
                "Saves what another file holds as the next snapshot of a .croft file, and tells what became of the bytes.",
                () -> List.of(Arguments.file("FILE", "The .croft file to append to."), knownFile("SOURCE"),
                        Arguments.text(MESSAGE, "TEXT", "Say something about the snapshot."), Arguments.format(),
                        Arguments.setting(), Arguments.at(),
                        Arguments.root(), Arguments.location(), Arguments.base(), Arguments.whole(),
                        Arguments.sharing()),
                this::append));
        commands.put("adopt", new Subcommand(
                "Makes a .croft file that refers to the bytes of another file instead of copying them.",
                () -> List.of(knownFile("SOURCE"), Arguments.file("TARGET", "The .croft file to write."),
                        Arguments.format(), Arguments.setting(), Arguments.root(), Arguments.location(),
                        Arguments.chunk(),
                        flag(REPORT, "Tell what became of the bytes.")),
                this::adopt));
        commands.put("publish", new Subcommand(
                "Puts what a file holds into shared memory, for other processes to attach. What has the name already is "
                        + "replaced, and stays with those who have it open.",
                () -> List.of(knownFile("FILE"), Arguments.sharedName(), Arguments.format(), Arguments.setting(),
                        Arguments.at(), Arguments.root(),
                        Arguments.location(), Arguments.whole(), Arguments.sharing(),
                        flag(WRITABLE,
                                "Give every storage bytes of its own, so that processes may share what they write."),
                        flag(REPORT, "Tell what became of the bytes.")),
                this::publish));
        return commands;
    }

    private interface Save {
        int run(Checkpoint source, SaveOptions options) throws IOException;
    }

    /// Opens a file that is sound, and saves it under a name that messages get unless they name a file themselves.
    private int save(Path source, Path target, Arguments arguments, Save body) {
        for (Path base : arguments.bases()) {
            int code = run.of(base, () -> open(base));
            if (code != Run.OK) {
                return code;
            }
        }
        return run.of(source, () -> {
            try (Checkpoint checkpoint = Checkpoint.open(source, arguments.opening())) {
                Soundness.require(checkpoint);
                return run.of(target, () -> {
                    try (ProgressBar bar = ProgressBar.onTerminal()) {
                        return body.run(checkpoint,
                                arguments.saving().metadata(checkpoint.metadata()).progress(bar));
                    }
                });
            }
        });
    }

    /// Whether a base can be used is said of that base, and before anything is written.
    private static int open(Path base) throws IOException {
        Checkpoint.open(base, OpenOptions.defaults().onMeta()).close();
        return Run.OK;
    }

    private int convert(Arguments arguments) {
        Path target = arguments.path(1);
        boolean isStream = target.toString().equals(STANDARD_OUTPUT);
        boolean isCroft = arguments.text(TO).map("croft"::equals).orElse(isStream || Targets.isCroft(target));
        if (isStream) {
            return isCroft
                    ? stream(arguments)
                    : run.complain("only a .croft file can go to standard output. Give OUT a name");
        }
        return isCroft
                ? save(arguments.path(0), target, arguments,
                        (checkpoint, options) -> convert(checkpoint, target, arguments, options))
                : export(arguments, target);
    }

    private int export(Arguments arguments, Path target) {
        Optional<String> misplaced = arguments.savingOptions().findFirst();
        if (misplaced.isPresent() || arguments.has(REPORT)) {
            return run.complain("%s: %s is for .croft files. Leave it out, or give OUT a name that ends in .croft"
                    .formatted(target, misplaced.orElse(REPORT)));
        }
        return save(arguments.path(0), target, arguments, (checkpoint, options) -> {
            if (losesSnapshots(checkpoint, target)) {
                return complainOfLoss(target);
            }
            // Of a set the size of OUT is only that of the index.
            AtomicLong written = new AtomicLong();
            ExportOptions exporting = exporting(arguments).metadata(options.metadata()).progress((done, total) -> {
                written.set(done);
                options.progress().written(done, total);
            });
            Checkpoint.export(target, checkpoint.tree(), exporting);
            out.line("%s (%s, %s) -> %s (%s): %s".formatted(checkpoint.path(), checkpoint.format(),
                    Sizes.of(checkpoint), target, Text.bytes(written.get()), contents(checkpoint)));
            return Run.OK;
        });
    }

    private static boolean losesSnapshots(Checkpoint checkpoint, Path target) throws IOException {
        return Targets.isSame(checkpoint.path(), target) && checkpoint.snapshots().size() > 1;
    }

    private int complainOfLoss(Path target) {
        return run.complain("%s: it would lose its other snapshots. Give OUT another name, or use croft compact"
                .formatted(target));
    }

    private static ExportOptions exporting(Arguments arguments) {
        ExportOptions options = ExportOptions.defaults();
        Optional<String> format = arguments.text(TO);
        if (format.isPresent()) {
            options = options.format(format.get());
        }
        for (Map.Entry<String, String> setting : arguments.settings().entrySet()) {
            options = options.setting(setting.getKey(), setting.getValue());
        }
        return options;
    }

    private int convert(Checkpoint checkpoint, Path target, Arguments arguments, SaveOptions options)
            throws IOException {
        if (losesSnapshots(checkpoint, target)) {
            return complainOfLoss(target);
        }
        String size = Sizes.of(checkpoint);
        DedupReport report = Checkpoint.save(target, checkpoint.tree(), options);
        out.line("%s (%s, %s) -> %s (%s): %s".formatted(checkpoint.path(), checkpoint.format(), size,
                target, Text.bytes(Files.size(target)), contents(checkpoint)));
        report(report, arguments);
        return Run.OK;
    }

    private int stream(Arguments arguments) {
        if (arguments.has(REPORT)) {
            return run.complain("the file and the report cannot both go to standard output. Give OUT a name");
        }
        if (ProgressBar.terminal().isPresent()) {
            return run.complain("standard output is a terminal, which a .croft file would upset. Give OUT a name");
        }
        return save(arguments.path(0), arguments.path(0), arguments, (checkpoint, options) -> {
            CroftFile.stream(out.channel(), checkpoint.tree(), options);
            return Run.OK;
        });
    }

    private int append(Arguments arguments) {
        Path file = arguments.path(0);
        return save(arguments.path(1), file, arguments, (checkpoint, options) -> {
            DedupReport report = CroftFile.append(file, checkpoint.tree(),
                    options.time(Instant.now()).message(arguments.text(MESSAGE).orElse("")));
            out.line("%s (%s) -> %s (snapshot %d, %s): %s".formatted(checkpoint.path(), checkpoint.format(), file,
                    newest(file), Text.bytes(Files.size(file)), contents(checkpoint)));
            Savings.print(report, out);
            return Run.OK;
        });
    }

    private static long newest(Path file) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().onMeta())) {
            return checkpoint.snapshot().orElseThrow().sequence();
        }
    }

    private int adopt(Arguments arguments) {
        Path source = arguments.path(0);
        Path target = arguments.path(1);
        return Targets.isCroft(target)
                ? save(source, target, arguments,
                        (checkpoint, options) -> adopt(checkpoint, target, arguments, options))
                : Targets.refuse("TARGET", target, run);
    }

    private int adopt(Checkpoint checkpoint, Path target, Arguments arguments, SaveOptions options) throws IOException {
        Path source = checkpoint.path();
        DedupReport report = Checkpoint.save(target, checkpoint.tree(),
                options.base(source, arguments.opening()).wholeStorages());
        out.line("%s (%s, %s) -> %s (%s): %s".formatted(source, checkpoint.format(), Sizes.of(checkpoint),
                target, Text.bytes(Files.size(target)), contents(checkpoint)));
        String stays = checkpoint.files().size() == 1
                ? source + ", which has to stay"
                : "the files that " + source + " names, each of which has to stay";
        long adopted = adopted(checkpoint, report, target);
        if (adopted > 0) {
            out.line("%s are read from %s as it is. Open %s with --root DIR, a directory above both."
                    .formatted(Text.bytes(adopted), stays, target));
        }
        if (report.written() > 0) {
            out.line("%s were written, as they do not stand in %s as they are in memory."
                    .formatted(Text.bytes(report.written()), source));
        }
        report(report, arguments);
        return Run.OK;
    }

    /// How many bytes stand in the source. What is shared may also be shared within the target, so it is asked itself: without
    /// a root it does not look at a file of another format.
    private static long adopted(Checkpoint checkpoint, DedupReport report, Path target) throws IOException {
        if (checkpoint.snapshot().isPresent()) {
            return report.sharedStorages() + report.sharedChunks();
        }
        try (Checkpoint adopting = Checkpoint.open(target)) {
            return adopting.verify().unverifiedBytes();
        }
    }

    private int publish(Arguments arguments) {
        String name = arguments.word(1);
        if (arguments.has(WRITABLE) && arguments.has(Arguments.SHARING)) {
            return run.complain("with %s every storage has its bytes for itself; leave out %s".formatted(WRITABLE,
                    Arguments.SHARING));
        }
        return save(arguments.path(0), Path.of(name), arguments, (checkpoint, options) -> {
            try (Published published = Published.publish(name, checkpoint.tree(),
                    arguments.has(WRITABLE) ? options.writableInPlace() : options)) {
                out.line("%s (%s, %s) -> shared memory %s (%s): %s".formatted(checkpoint.path(), checkpoint.format(),
                        Sizes.of(checkpoint), published.name(), Text.bytes(published.nbytes()),
                        contents(checkpoint)));
                out.line("Java opens it with Published.attach(\"%1$s\"), and on Linux it is the file /dev/shm/%1$s. "
                        .formatted(published.name()) + "It stays until: croft unpublish " + published.name());
                report(published.report(), arguments);
            }
            return Run.OK;
        });
    }

    private static String contents(Checkpoint checkpoint) {
        return Text.count(checkpoint.names().size(), "tensor") + " on "
                + Text.count(checkpoint.storages().size(), "storage");
    }

    private void report(DedupReport report, Arguments arguments) {
        if (arguments.has(REPORT)) {
            Savings.print(report, out);
        }
    }
}
