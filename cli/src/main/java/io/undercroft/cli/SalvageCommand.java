package io.undercroft.cli;

import io.undercroft.cli.internal.NameTree;
import io.undercroft.cli.internal.ProgressBar;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.inspect.VerificationJson;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CheckpointFile;
import io.undercroft.serializer.Salvage;
import io.undercroft.serializer.SaveOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/// The command that saves what is intact in a damaged `.croft` file.
final class SalvageCommand {
    private final CommandRunner run;

    SalvageCommand(CommandRunner run) {
        this.run = run;
    }

    Subcommand command() {
        return new Subcommand(
                "Saves the intact tensors of a damaged .croft file, by name, and lists the damage. Exits with 4 if "
                        + "there is any.",
                () -> List.of(Arguments.file("FILE", "A .croft file."),
                        Arguments.file("TARGET", "The .croft file to write."), Arguments.at(), Arguments.root(),
                        Arguments.otherFile(), Arguments.json()),
                this::salvage);
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
                    CheckpointFile file = CheckpointFile.open(source, SaveOptions.defaults(),
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
                        .list("damages", salvage.damages(), VerificationJson::write));
        salvage.skippedCommit().ifPresent(why -> run.noteSkippedCommit(source, salvage.snapshot(), why));
        IntegrityChecks.list(source, salvage.damages(), run);
        if (!salvage.damagedNames().isEmpty()) {
            run.note("%s: left out: %s".formatted(source, Text.names(salvage.damagedNames())));
        }
        int code = salvage.skippedCommit().isEmpty() ? CommandRunner.OK : CommandRunner.DAMAGED;
        return run.worse(code, run.ofEach(salvage.damages(), IntegrityChecks::code));
    }
}
