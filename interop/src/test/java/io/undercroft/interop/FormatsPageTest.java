package io.undercroft.interop;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/// `docs/formats.md` speaks of every format and every setting that there is, and of no others.
class FormatsPageTest {
    private static final Path PAGE = Path.of("..", "docs", "formats.md");
    private static final Path SOURCES = Path.of("src", "main", "java");

    @Test
    void everyFormatHasARowThatSaysWhatItCanDo() throws IOException {
        List<String> rows = lines("| [").toList();

        assertThat(rows).containsExactlyElementsOf(Checkpoint.formats().stream().map(FormatsPageTest::row).toList());
    }

    private static String row(CheckpointFormat format) {
        String suffixes = format.suffixes().stream().map(suffix -> "`" + suffix + "`").collect(Collectors.joining(" "));
        Set<Capability> can = format.capabilities();
        String marks = can.contains(Capability.SAVE)
                ? Stream.of(Capability.SAVE, Capability.SHARING, Capability.STATE, Capability.METADATA)
                        .map(each -> can.contains(each) ? " yes |" : " no |").collect(Collectors.joining())
                : " no | | | |";
        return "| [" + format.name() + "](#" + anchor(format.name()) + ") |" + (suffixes.isEmpty() ? "" : " ")
                + suffixes
                + " |" + marks;
    }

    /// What stands behind the name of a format in the first table: the section that has the name in its head.
    private static String anchor(String name) {
        try {
            String head = lines("## ").map(line -> line.substring(3))
                    .filter(line -> Set.of(line.split(", ")).contains(name)).findFirst().orElse("no section");
            return head.replace(",", "").replace(" ", "-");
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void everySettingOfTheSourcesIsThere() throws IOException {
        String names = Checkpoint.formats().stream().map(CheckpointFormat::name).collect(Collectors.joining("|"));
        Pattern literal = Pattern.compile("\"((?:" + names + ")\\.[a-z]+)\"");
        Set<String> used = new TreeSet<>();
        try (Stream<Path> sources = Files.walk(SOURCES)) {
            for (Path source : sources.filter(Files::isRegularFile).toList()) {
                used.addAll(found(literal, Files.readString(source)));
            }
        }

        Set<String> said = lines("| `").flatMap(line -> found(Pattern.compile("^\\| `([^`]+)`"), line).stream())
                .collect(Collectors.toCollection(TreeSet::new));

        assertThat(said).isEqualTo(used).contains("torch7.longs", "npz.compression");
    }

    private static List<String> found(Pattern pattern, String text) {
        return pattern.matcher(text).results().map((MatchResult result) -> result.group(1)).toList();
    }

    private static Stream<String> lines(String start) throws IOException {
        return Files.readAllLines(PAGE).stream().filter(line -> line.startsWith(start));
    }
}
