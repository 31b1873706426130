package io.undercroft.cli;

import static io.undercroft.cli.internal.Table.left;
import static io.undercroft.cli.internal.Table.right;
import static io.undercroft.cli.internal.Table.whole;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.ProgressBar;
import io.undercroft.cli.internal.Table;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cli.internal.UniqueBytes;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.analysis.CodingEstimate;
import io.undercroft.serializer.internal.analysis.CodingEstimate.Estimate;
import io.undercroft.serializer.internal.analysis.Sizes;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/// The command that computes the space that one `.croft` file for the storages of many files would save.
final class DedupCommand extends Commands {
    /// The codes of files that are skipped: empty files and indexes without their files are usual in caches of model
    /// hubs.
    private static final Set<String> SKIPPED = Set.of("FORMAT-UNKNOWN", "FORMAT-EMPTY", "SHARD-INDEX");

    /// The most bytes of all files that are compressed for an estimate, and those of each file if there are very many.
    /// In 10 files these are about 50 pieces of each.
    private static final long SAMPLED = 32 << 20;
    private static final long SAMPLED_OF_FILE = 1 << 18;

    DedupCommand(TextOutput out, CommandRunner run) {
        super(out, run);
        add("dedup",
                "Computes how much space one .croft file for all files of some directories would save. Their storages "
                        + "are compared in chunks of 1 MiB, those of .croft files by their digests. A sample of their "
                        + "bytes is compressed to estimate what --compress of other commands would save. Nothing is "
                        + "written, and checksums are not compared. Empty files, files of unknown formats, and "
                        + "indexes of several files, are skipped.",
                () -> List.of(Arguments.files(0, "DIR", "One or more directories, or files."),
                        Arguments.json()),
                this::dedup);
    }

    /// The bytes that a file adds.
    ///
    /// @param nbytes its size
    /// @param storages the bytes of its storages
    /// @param added the number of these bytes that no earlier file has
    /// @param coded the number of bytes that these would take if they were compressed
    private record Share(Path file, String format, long nbytes, long storages, long added, Estimate coded) {}

    private int dedup(Arguments arguments) {
        List<Path> files = new ArrayList<>();
        Set<Path> seen = new HashSet<>();
        int found = run.ofEach(arguments.paths(0), named -> run.of(named, () -> find(named, seen, files)));
        List<Share> shares = new ArrayList<>();
        try (CodingEstimate coding = new CodingEstimate(arguments.openingOnHost(),
                Math.max(SAMPLED_OF_FILE, SAMPLED / (files.size() + 1)))) {
            int code = found;
            try (ProgressBar bar = ProgressBar.onTerminal()) {
                long total = Sizes.sum(files.stream().mapToLong(DedupCommand::size));
                UniqueBytes unique = new UniqueBytes(coding, done -> bar.onProgress(Math.min(done, total), total));
                Set<Path> inModels = new HashSet<>();
                code = run.worse(found, run.ofEach(files, file -> run.of(file,
                        () -> inModels.contains(file.toRealPath())
                                ? CommandRunner.OK
                                : add(file, arguments.openingOnHost(), unique, coding, inModels, shares))));
            }
            return print(arguments, shares, coding, code);
        }
    }

    private int print(Arguments arguments, List<Share> shares, CodingEstimate coding, int code) {
        if (shares.isEmpty()) {
            return code == CommandRunner.OK
                    ? run.fail(CommandRunner.MISSING, "there is no file of a known format in "
                            + Text.names(arguments.paths(0).stream().map(Path::toString).toList()))
                    : code;
        }
        int printed = run.of(() -> {
            run.print(arguments, json -> write(json, shares, coding), text -> print(shares, coding, text));
            return CommandRunner.OK;
        });
        return run.worse(code, printed);
    }

    /// Adds the files below a directory in the order of their names, or one file. Links to files are followed, since
    /// caches of model hubs consist of links; links to directories are not, except the one that the user named. What
    /// cannot be read is named.
    ///
    /// @param seen the files found so far, each once however many links lead to it
    /// @param files receives the files that were not found before
    private int find(Path named, Set<Path> seen, List<Path> files) throws IOException {
        List<Path> found = new ArrayList<>();
        List<IOException> unreadable = new ArrayList<>();
        Path start = Files.isDirectory(named) && Files.isSymbolicLink(named) ? named.toRealPath() : named;
        Files.walkFileTree(start, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                if (Files.isRegularFile(file)) {
                    found.add(file);
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException why) {
                unreadable.add(why);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException why) {
                if (why != null) {
                    unreadable.add(why);
                }
                return FileVisitResult.CONTINUE;
            }
        });
        Collections.sort(found);
        for (Path file : found) {
            if (seen.add(file.toRealPath())) {
                files.add(file);
            }
        }
        return run.ofEach(unreadable, why -> run.of(() -> {
            throw why;
        }));
    }

    private static long size(Path file) {
        try {
            return Files.size(file);
        } catch (IOException _) {
            // Opening the file reports the error.
            return 0;
        }
    }

    /// @param coding estimates the sizes of compressed files
    /// @param inModels receives the other files of a split GGUF, which its first file opens
    private int add(Path file, OpenOptions options, UniqueBytes unique, CodingEstimate coding, Set<Path> inModels,
            List<Share> shares) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, options)) {
            boolean isIndex = Checkpoint.formats().stream()
                    .anyMatch(format -> format.name().equals(checkpoint.format())
                            && format.capabilities().contains(Capability.SEVERAL_FILES));
            if (!isIndex) {
                long storages = Sizes.sum(checkpoint.storages().stream().filter(storage -> !storage.isMeta())
                        .mapToLong(Storage::nbytes));
                inModels.addAll(checkpoint.files());
                long nbytes = Sizes.sum(checkpoint.fileSizes().values().stream().mapToLong(Long::longValue));
                coding.start(checkpoint, file, storages);
                long added = unique.add(checkpoint);
                shares.add(new Share(file, checkpoint.format(), nbytes, storages, added, coding.estimate()));
                return IntegrityChecks.noteUnreadable(checkpoint, Saver.unreadable(checkpoint), run);
            }
        } catch (FormatException e) {
            if (!SKIPPED.contains(e.code())) {
                throw e;
            }
        }
        return CommandRunner.OK;
    }

    private static long sum(List<Share> shares, ToLongFunction<Share> size) {
        return Sizes.sum(shares.stream().mapToLong(size));
    }

    private static void print(List<Share> shares, CodingEstimate coding, TextOutput out) {
        Table table = new Table(left("file"), whole("format"), right("size"), right("storages"), right("new"));
        shares.forEach(share -> table.row(share.file().toString(), share.format(), Text.bytes(share.nbytes()),
                Text.bytes(share.storages()), Text.bytes(share.added())));
        table.print(out);
        long nbytes = sum(shares, Share::nbytes);
        long unique = sum(shares, Share::added);
        out.line("");
        out.line("%s, %s; their storages have %s, %s of them different".formatted(Text.count(shares.size(), "file"),
                Text.bytes(nbytes), Text.bytes(sum(shares, Share::storages)), Text.bytes(unique)));
        out.line(unique < nbytes
                ? "one .croft file with all of them would save %s (%s), less the size of its indexes".formatted(
                        Text.bytes(nbytes - unique), Text.percent(nbytes - unique, nbytes))
                : "one .croft file with all of them would save nothing");
        long alone = sum(shares, share -> share.coded().alone());
        long against = sum(shares, share -> share.coded().againstFirst());
        out.line("with --compress alone it would have about %s instead of %s%s (estimated from %s that were read)"
                .formatted(Text.bytes(alone), Text.bytes(unique), coding.hasReferences()
                        ? ", with --compress against-base for all but the first file with a tensor, about "
                                + Text.bytes(against)
                        : "", Text.bytes(coding.sampled())));
    }

    private static void write(Json json, List<Share> shares, CodingEstimate coding) throws IOException {
        long nbytes = sum(shares, Share::nbytes);
        long unique = sum(shares, Share::added);
        json.list("files", shares, (each, share) -> each.member("file", share.file().toString())
                .member("format", share.format()).member("nbytes", share.nbytes())
                .member("storage_nbytes", share.storages()).member("new_nbytes", share.added())
                .member("alone_nbytes", share.coded().alone())
                .member("against_base_nbytes", share.coded().againstFirst()))
                .member("nbytes", nbytes)
                .member("storage_nbytes", sum(shares, Share::storages))
                .member("unique_nbytes", unique).member("saved_nbytes", nbytes - unique)
                .object("estimate", each -> each.member("sampled_nbytes", coding.sampled())
                        .member("alone_nbytes", sum(shares, share -> share.coded().alone()))
                        .member("against_base_nbytes", sum(shares, share -> share.coded().againstFirst())));
    }
}
