package io.undercroft.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// The process of [CommandsOfThePagesTest].
final class CommandLines {
    static final String FAILED = "FAILED ";
    private static final Pattern WORD = Pattern.compile("'([^']*)'|\\S+");
    private static final Pattern SHARED_NAME = Pattern
            .compile("(?<=shm publish model\\.pt |shm remove |/dev/shm/)weights");
    private static final String NAME = "croft-pages-" + ProcessHandle.current().pid();
    private static final Path WORK = Path.of("");

    private CommandLines() {}

    /// Runs command lines, each in a fresh copy of a directory.
    ///
    /// @param args the file with the lines, and the directory
    public static void main(String[] args) throws IOException {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            reset(Path.of(args[1]));
            // Not the name of the page, which another program may have published.
            String own = SHARED_NAME.matcher(line).replaceAll(NAME);
            boolean isShared = own.contains(NAME);
            if (isShared && !own.contains("shm publish")) {
                run("shm", "publish", "model.pt", NAME);
            }
            Invocation ended = run(WORD.matcher(own).results().map(CommandLines::unquoted).toArray(String[]::new));
            if (isShared) {
                run("shm", "remove", NAME);
            }
            boolean isExpected = ended.code() == CommandRunner.OK
                    || (ended.code() == CommandRunner.DIFFERENT && line.startsWith("diff "));
            System.out.println((isExpected ? "ran " : FAILED) + line + " -> " + ended.code());
            System.out.println(ended.err() + ended.out());
        }
    }

    private static Invocation run(String... words) {
        return Invocation.of((Object[]) words);
    }

    private static String unquoted(MatchResult word) {
        return word.group(1) == null ? word.group() : word.group(1);
    }

    private static void reset(Path files) throws IOException {
        try (Stream<Path> former = Files.walk(WORK.toAbsolutePath())) {
            List<Path> all = former.sorted(Comparator.reverseOrder()).toList();
            for (Path file : all.subList(0, all.size() - 1)) {
                Files.delete(file);
            }
        }
        try (Stream<Path> originals = Files.walk(files)) {
            for (Path original : originals.skip(1).toList()) {
                Files.copy(original, WORK.toAbsolutePath().resolve(files.relativize(original)));
            }
        }
    }
}
