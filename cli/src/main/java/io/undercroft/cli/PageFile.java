package io.undercroft.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.cli.internal.ProgressBar;
import io.undercroft.cli.internal.StandardInput;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.inspect.HtmlReport.Extract;
import io.undercroft.cli.internal.inspect.HtmlReport;
import io.undercroft.cli.internal.inspect.Inspection;
import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine.Model.ArgSpec;

/// The page that `inspect --html` writes. The file is created atomically.
final class PageFile {
    static final String HTML = "--html";
    /// The first characters of a page. Files that begin otherwise are not replaced.
    private static final String START = "<!doctype html>\n<!-- croft inspect -->\n";

    private final Path target;
    private final CommandRunner run;

    private PageFile(Path target, CommandRunner run) {
        this.target = target;
        this.run = run;
    }

    static ArgSpec option() {
        return Arguments.path(HTML, "OUT",
                "Write a page for browsers to OUT, which needs no other file and no network. An existing page is "
                        + "replaced.");
    }

    /// {@return why no page can be written with these arguments; empty if one can be written or none was requested}
    static Optional<String> misuse(Arguments arguments, List<Path> files) {
        if (arguments.path(HTML).isEmpty()) {
            return Optional.empty();
        }
        if (arguments.has(Arguments.JSON)) {
            return Optional.of(HTML + " and --json are two ways of showing a file; give one of them");
        }
        if (arguments.path(HTML).get().toString().equals("-")) {
            return Optional.of("a page is written to a file; give " + HTML + " its name");
        }
        return files.size() > 1
                ? Optional.of("a page is about one file; give %s with each of the %d files by itself".formatted(HTML,
                        files.size()))
                : Optional.empty();
    }

    /// Writes the page, and reports it.
    ///
    /// @param given the file that is inspected, as the user named it
    static int write(Inspection inspection, Path given, Path target, CommandRunner run) {
        return run.writing(target, () -> {
            new PageFile(target, run).write(inspection, given);
            return CommandRunner.OK;
        });
    }

    private void write(Inspection inspection, Path given) throws IOException {
        requireReplaceable(inspection.checkpoint(), given);
        Path source = Inputs.path(inspection.checkpoint(), given);
        Extract extract = Targets.write(target, out -> {
            try (ProgressBar bar = ProgressBar.counting("entry", "entries")) {
                return HtmlReport.write(inspection, name(source), modified(source), out, bar);
            }
        });
        say(inspection, extract);
    }

    private void say(Inspection inspection, Extract extract) throws IOException {
        run.say("%s: a page of %s about %s; open it in a browser".formatted(target, Text.bytes(Files.size(target)),
                Text.count(extract.tensors(), "tensor")));
        String leftOut = Stream.of(leftOut(inspection.tensors().size() - extract.tensors(), "tensor"),
                leftOut(inspection.storages().size() - extract.storages(), "storage"))
                .filter(part -> !part.isEmpty()).collect(Collectors.joining(" and "));
        if (!leftOut.isEmpty()) {
            run.note("%s: the page leaves out %s, so that browsers can open it".formatted(target, leftOut));
        }
    }

    private static String leftOut(int count, String noun) {
        return count == 0 ? "" : Text.count(count, noun);
    }

    /// Refuses to replace a file that is not a page, so that a mistyped name destroys no file.
    private void requireReplaceable(Checkpoint checkpoint, Path given) throws IOException {
        if (!Inputs.isUri(given) && Targets.isInput(checkpoint, target)) {
            throw new IllegalArgumentException(target + ": the page would replace a file that it is about. Give "
                    + HTML + " another name");
        }
        if (Files.isSymbolicLink(target) && !Files.exists(target)) {
            throw new FileSystemException(target.toString(), null,
                    "it is a symbolic link to a file that does not exist; name that file");
        }
        if (Files.isRegularFile(target) && Files.size(target) > 0 && !isPage()) {
            throw new IllegalArgumentException(target + ": it exists and is no page of croft inspect, and is not "
                    + "replaced. Delete it, or give " + HTML + " another name");
        }
    }

    private boolean isPage() throws IOException {
        try (var in = Files.newInputStream(target)) {
            return new String(in.readNBytes(START.length()), UTF_8).equals(START);
        }
    }

    private static String name(Path source) {
        return StandardInput.isMeant(source) ? StandardInput.NAME : String.valueOf(source.getFileName());
    }

    private static OptionalLong modified(Path source) throws IOException {
        return Inputs.isUri(source) || StandardInput.isMeant(source)
                ? OptionalLong.empty()
                : OptionalLong.of(Files.getLastModifiedTime(source).toMillis());
    }
}
