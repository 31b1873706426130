package io.undercroft.cli;

import static io.undercroft.cli.Arguments.flag;
import static io.undercroft.cli.Arguments.knownFile;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Savings;
import io.undercroft.cli.internal.Sizes;
import io.undercroft.cli.internal.Text;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CheckpointFile;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.Published;
import io.undercroft.serializer.SaveOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;

/// The commands that save the state of a file beside what is there: behind it, on it, or in shared memory.
final class SavingCommands {
    private static final String MESSAGE = "--message";
    private static final String WRITABLE = "--writable";

    private final Output out;
    private final Run run;
    private final Saver saver;

    SavingCommands(Output out, Run run) {
        this.out = out;
        this.run = run;
        this.saver = new Saver(out, run);
    }

    SequencedMap<String, Subcommand> all() {
        SequencedMap<String, Subcommand> commands = new LinkedHashMap<>();
        commands.put("append", new Subcommand(
                "Saves what another file holds as the next snapshot of a .croft file, and tells what became of the "
                        + "bytes.",
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
                        Arguments.base(), Arguments.chunk(),
                        flag(Saver.REPORT, "Tell what became of the bytes.")),
                this::adopt));
        commands.put("publish", new Subcommand(
                "Puts what a file holds into shared memory, for other processes to attach. What has the name already "
                        + "is "
                        + "replaced, and stays with those who have it open.",
                () -> List.of(knownFile("FILE"), Arguments.sharedName(), Arguments.format(), Arguments.setting(),
                        Arguments.at(), Arguments.root(), Arguments.otherFile(),
                        Arguments.location(), Arguments.whole(), Arguments.sharing(),
                        flag(WRITABLE,
                                "Give every storage bytes of its own, so that processes may share what they write."),
                        flag(Saver.REPORT, "Tell what became of the bytes.")),
                this::publish));
        return commands;
    }

    private int append(Arguments arguments) {
        Path file = arguments.path(0);
        if (!Files.exists(file)) {
            return run.complain("%s: there is no such file to append to. Make it with croft convert".formatted(file));
        }
        return saver.save(arguments.path(1), file, arguments, (checkpoint, options) -> {
            DedupReport report;
            try (CheckpointFile growing = CheckpointFile.open(file)) {
                report = growing.commit(checkpoint.tree(),
                        options.time(Instant.now()).message(arguments.text(MESSAGE).orElse("")));
            }
            run.say("%s (%s) -> %s (snapshot %d, %s): %s".formatted(checkpoint.path(), checkpoint.format(), file,
                    newest(file), Text.bytes(Files.size(file)), Saver.contents(checkpoint) + Saver.leftOut(report)));
            Savings.print(report, out);
            return Run.OK;
        });
    }

    private static long newest(Path file) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().onMeta())) {
            return checkpoint.snapshot().orElseThrow().commit();
        }
    }

    private int adopt(Arguments arguments) {
        Path source = arguments.path(0);
        Path target = arguments.path(1);
        return Targets.isCroft(target)
                ? saver.save(source, target, arguments,
                        (checkpoint, options) -> adopt(checkpoint, target, arguments, options))
                : Targets.refuse("TARGET", target, run);
    }

    private int adopt(Checkpoint checkpoint, Path target, Arguments arguments, SaveOptions options) throws IOException {
        Path source = checkpoint.path();
        DedupReport report = Checkpoint.save(target, checkpoint.tree(),
                options.base(source, arguments.opening()).wholeStorages()).dedup().orElseThrow();
        run.say("%s (%s, %s) -> %s (%s): %s".formatted(source, checkpoint.format(), Sizes.of(checkpoint),
                target, Text.bytes(Files.size(target)), Saver.contents(checkpoint)));
        long adopted = adopted(checkpoint, report, target);
        if (adopted > 0) {
            run.say("%s are read from %s as it is. Open %s with --root DIR, a directory above %s."
                    .formatted(Text.bytes(adopted), staying(checkpoint, arguments), target,
                            arguments.bases().isEmpty() ? "both" : "all of them"));
        }
        if (report.written() > 0) {
            run.say("%s were written, as they do not stand in %s as they are in memory."
                    .formatted(Text.bytes(report.written()), source));
        }
        saver.report(report, arguments);
        return Run.OK;
    }

    /// The files that have to stay, for a sentence about one.
    private static String staying(Checkpoint checkpoint, Arguments arguments) {
        Path source = checkpoint.path();
        if (!arguments.bases().isEmpty()) {
            return source + " and the files that --base names, each of which has to stay";
        }
        return checkpoint.files().size() == 1
                ? source + ", which has to stay"
                : "the files that " + source + " names, each of which has to stay";
    }

    /// How many bytes stand in the source. What is shared may also be shared within the target, so it is asked itself:
    /// without a root it does not look at a file of another format.
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
        return saver.save(arguments.path(0), Path.of(name), arguments, (checkpoint, options) -> {
            run.noteUnusedRoot(checkpoint, arguments);
            try (Published published = Published.publish(name, checkpoint.tree(),
                    arguments.has(WRITABLE) ? options.writableInPlace() : options)) {
                run.say("%s (%s, %s) -> shared memory %s (%s): %s".formatted(checkpoint.path(), checkpoint.format(),
                        Sizes.of(checkpoint), published.name(), Text.bytes(published.nbytes()),
                        Saver.contents(checkpoint) + Saver.leftOut(published.report())));
                run.say("Java opens it with Published.attach(\"%1$s\"), and on Linux it is the file /dev/shm/%1$s. "
                        .formatted(published.name()) + "It stays until: croft unpublish " + published.name());
                saver.report(published.report(), arguments);
            }
            return Run.OK;
        });
    }
}
