package io.undercroft.interop;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.Setting.Use;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
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

    /// What is behind the name of a format in the first table: the section that has the name in its head.
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
    void everySettingHasARowThatSaysWhatItMayBe() throws IOException {
        List<String> rows = lines("| `").map(row -> row.substring(0, row.lastIndexOf(" | "))).toList();

        assertThat(rows).containsExactlyInAnyOrderElementsOf(settings().entrySet().stream()
                .map(entry -> "| `" + entry.getKey().name + "` | " + uses(entry.getValue()) + " | "
                        + entry.getKey().values)
                .toList());
    }

    private record NameAndValues(String name, String values) {}

    private static Map<NameAndValues, Set<Use>> settings() {
        return Checkpoint.formats().stream().flatMap(format -> format.settings().stream())
                .collect(Collectors.groupingBy(setting -> new NameAndValues(setting.name(), setting.values()),
                        Collectors.mapping(Setting::use, Collectors.toSet())));
    }

    private static String uses(Set<Use> uses) {
        return uses.size() == 2 ? "both" : uses.contains(Use.OPENING) ? "opening" : "writing";
    }

    /// Else it would be refused before a format sees it.
    @Test
    void everySettingOfTheSourcesIsSaidToBeOne() throws IOException {
        // Those of .croft are in the sources of another module.
        Set<String> names = Checkpoint.formats().stream().flatMap(format -> format.settings().stream())
                .map(Setting::name).filter(name -> !name.startsWith("croft."))
                .collect(Collectors.toCollection(TreeSet::new));
        String families = Checkpoint.formats().stream().map(CheckpointFormat::name).collect(Collectors.joining("|"));
        // Much of PyTorch is called "torch.name"; the names of settings are constants.
        Pattern literal = Pattern.compile("\"((?:" + families + ")\\.[a-z]+)\"|_SETTING = \"(torch\\.[a-z]+)\"");
        Set<String> used = new TreeSet<>();
        try (Stream<Path> sources = Files.walk(SOURCES)) {
            for (Path source : sources.filter(Files::isRegularFile).toList()) {
                literal.matcher(Files.readString(source)).results().forEach(
                        found -> used.add(found.group(1) == null ? found.group(2) : found.group(1)));
            }
        }

        assertThat(names).isEqualTo(used).contains("torch7.longs", "npz.compression", "torch.strict");
    }

    private static Stream<String> lines(String start) throws IOException {
        return Files.readAllLines(PAGE).stream().filter(line -> line.startsWith(start));
    }
}
