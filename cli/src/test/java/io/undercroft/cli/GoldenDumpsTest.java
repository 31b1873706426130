package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.dump.FileDump;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// The annotated dumps next to the golden files are what `croft hexdump` prints: of a file of several snapshots the
/// newest, and then the indexes of the others.
///
/// `main`, run in the folder of this module, writes them anew and puts the dump of the first into `SPEC.md`.
class GoldenDumpsTest {
    private static final Path FORMAT = Path.of("..", "format-spec");
    private static final Path SPEC = FORMAT.resolve("SPEC.md");
    private static final String FENCE = "```text\n";
    /// At most so many records of a section.
    private static final int LIMIT = 40;
    private static final String INDEX = FileDump.sections().stream()
            .filter(name -> !List.of("header", "commits", "extents").contains(name))
            .map(name -> " --section " + name).collect(Collectors.joining());

    public static void main(String[] unused) throws IOException {
        for (Path file : files()) {
            Files.writeString(dumpOf(file), dump(file));
        }
        String spec = Files.readString(SPEC);
        String before = spec.substring(0, spec.indexOf(FENCE) + FENCE.length());
        String after = spec.substring(spec.indexOf("```\n", before.length()));
        Files.writeString(SPEC, before + Files.readString(dumpOf(golden().resolve("everything.croft"))) + after);
    }

    private static Path golden() {
        return FORMAT.resolve("src/test/resources/golden");
    }

    static List<Path> files() throws IOException {
        try (Stream<Path> all = Files.list(golden())) {
            return all.filter(file -> file.toString().matches(".*\\.croft(set)?")).sorted().toList();
        }
    }

    private static Path dumpOf(Path file) {
        return file.resolveSibling(file.getFileName().toString().replaceFirst("\\.croft(set)?$", ".txt"));
    }

    private static String dump(Path file) {
        StringBuilder text = new StringBuilder(printed(file, ""));
        boolean isSet = file.toString().endsWith("set");
        for (int at = isSet ? 0 : snapshots(file) - 1; at > 0; at--) {
            text.append('\n').append(printed(file, " --at " + at + INDEX));
        }
        return text.toString();
    }

    private static int snapshots(Path file) {
        int count = 1;
        while (Invocation.of("hexdump --section header --at " + (count + 1), file).code() == CommandRunner.OK) {
            count++;
        }
        return count;
    }

    private static String printed(Path file, String options) {
        Invocation shown = Invocation.of("hexdump --limit " + LIMIT + options, file);
        assertThat(shown.err()).isEmpty();
        assertThat(shown.code()).isZero();
        return shown.out();
    }

    @ParameterizedTest
    @MethodSource("files")
    void theDumpOfAGoldenFileIsWhatTheCommandPrints(Path file) throws IOException {
        assertThat(dump(file)).isEqualTo(Files.readString(dumpOf(file)));
    }
}
