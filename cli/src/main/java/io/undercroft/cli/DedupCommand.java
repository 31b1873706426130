package io.undercroft.cli;

import static io.undercroft.cli.internal.Table.left;
import static io.undercroft.cli.internal.Table.right;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.ProgressBar;
import io.undercroft.cli.internal.Table;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.dedup.UniqueBytes;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/// The command that computes the space that one `.croft` file for the storages of many files would save.
final class DedupCommand {
    private static final String NO_FORMAT = "FORMAT-UNKNOWN";

    private final Output out;
    private final CommandRunner run;

    DedupCommand(Output out, CommandRunner run) {
        this.out = out;
        this.run = run;
    }

    /// The bytes that a file adds.
    ///
    /// @param nbytes its size
    /// @param storages the bytes of its storages
    /// @param added the number of these bytes that no earlier file has
    private record Share(Path file, String format, long nbytes, long storages, long added) {}

    Subcommand command() {
        return new Subcommand(
                "Computes how much space one .croft file for all files of some directories would save. Their storages "
                        + "are compared in chunks of 1 MiB, those of .croft files by their digests. Nothing is "
                        + "written, and checksums are not compared. Files of unknown formats, and indexes of several "
                        + "files, are skipped.",
                () -> List.of(Arguments.files(0, "DIR", "One or more directories, or files."),
                        Arguments.json()),
                this::dedup);
    }

    private int dedup(Arguments arguments) {
        List<Path> files = new ArrayList<>();
        Set<Path> seen = new HashSet<>();
        int found = run.ofEach(arguments.paths(0), directory -> run.of(directory, () -> {
            files.addAll(filesIn(directory, seen));
            return CommandRunner.OK;
        }));
        List<Share> shares = new ArrayList<>();
        int code = found;
        try (ProgressBar bar = ProgressBar.onTerminal()) {
            long total = files.stream().mapToLong(DedupCommand::size).sum();
            UniqueBytes unique = new UniqueBytes(done -> bar.written(Math.min(done, total), total));
            code = run.worse(found, run.ofEach(files, file -> run.of(file,
                    () -> add(file, arguments.openingOnHost(), unique, shares))));
        }
        if (shares.isEmpty()) {
            return code == CommandRunner.OK
                    ? run.fail(CommandRunner.MISSING, "there is no file of a known format in "
                            + Text.names(arguments.paths(0).stream().map(Path::toString).toList()))
                    : code;
        }
        int printed = run.of(() -> {
            if (arguments.has(Arguments.JSON)) {
                printJson(shares);
            } else {
                print(shares);
            }
            return CommandRunner.OK;
        });
        return run.worse(code, printed);
    }

    /// Returns the files below a directory, each once, in the order of their names. Links to files are followed, since
    /// caches of model hubs consist of links.
    ///
    /// @param seen the files of the directories before this one, which are left out; the files of this one are added
    private static List<Path> filesIn(Path directory, Set<Path> seen) throws IOException {
        List<Path> files = new ArrayList<>();
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path file : all.filter(Files::isRegularFile).sorted().toList()) {
                if (seen.add(file.toRealPath())) {
                    files.add(file);
                }
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        return files;
    }

    private static long size(Path file) {
        try {
            return Files.size(file);
        } catch (IOException _) {
            // Opening the file reports the error.
            return 0;
        }
    }

    private int add(Path file, OpenOptions options, UniqueBytes unique, List<Share> shares) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, options)) {
            boolean isIndex = Checkpoint.formats().stream()
                    .anyMatch(format -> format.name().equals(checkpoint.format())
                            && format.capabilities().contains(Capability.SEVERAL_FILES));
            if (!isIndex) {
                long storages = checkpoint.storages().stream().filter(storage -> !storage.isMeta())
                        .mapToLong(Storage::nbytes).sum();
                shares.add(new Share(file, checkpoint.format(), Files.size(file), storages, unique.add(checkpoint)));
            }
        } catch (FormatException e) {
            if (!e.code().equals(NO_FORMAT)) {
                throw e;
            }
        }
        return CommandRunner.OK;
    }

    private void print(List<Share> shares) {
        Table table = new Table(left("file"), left("format"), right("size"), right("storages"), right("new"));
        shares.forEach(share -> table.row(share.file().toString(), share.format(), Text.bytes(share.nbytes()),
                Text.bytes(share.storages()), Text.bytes(share.added())));
        table.print(out);
        long nbytes = shares.stream().mapToLong(Share::nbytes).sum();
        long unique = shares.stream().mapToLong(Share::added).sum();
        out.line("");
        out.line("%s, %s; their storages have %s, %s of them different".formatted(Text.count(shares.size(), "file"),
                Text.bytes(nbytes), Text.bytes(shares.stream().mapToLong(Share::storages).sum()), Text.bytes(unique)));
        out.line(unique < nbytes
                ? "one .croft file with all of them would save %s (%s), less the size of its indexes".formatted(
                        Text.bytes(nbytes - unique), Text.percent(nbytes - unique, nbytes))
                : "one .croft file with all of them would save nothing");
    }

    private void printJson(List<Share> shares) throws IOException {
        long nbytes = shares.stream().mapToLong(Share::nbytes).sum();
        long unique = shares.stream().mapToLong(Share::added).sum();
        Json.print(out, json -> json
                .list("files", shares, (each, share) -> each.member("file", share.file().toString())
                        .member("format", share.format()).member("nbytes", share.nbytes())
                        .member("storage_nbytes", share.storages()).member("new_nbytes", share.added()))
                .member("nbytes", nbytes)
                .member("storage_nbytes", shares.stream().mapToLong(Share::storages).sum())
                .member("unique_nbytes", unique).member("saved_nbytes", nbytes - unique));
    }
}
