package io.undercroft.properties.documents;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Repository;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/// The page about tests lists the promises as the classes of laws do, each by its first sentence.
class PromisesTest {
    private static final Pattern CLASS = Pattern
            .compile("((?:^/// ?.*\n)+)(?:^@.*\n)*^(?:final )?class (\\w+(?:LawsTest|Schedules)) ", Pattern.MULTILINE);
    private static final Pattern ROW = Pattern.compile(
            "^\\| (.+) \\| \\[`(\\w+(?:LawsTest|Schedules))`]\\((.+)\\) \\|$",
            Pattern.MULTILINE);
    private static final String SOURCES = "property-tests/src/test/java/io/undercroft/properties";

    @Test
    void thePageListsThePromisesOfTheLaws() throws IOException {
        Map<String, String> promises = new TreeMap<>();
        for (Path source : sources()) {
            Matcher found = CLASS.matcher(Files.readString(source, UTF_8));
            assertThat(found.find()).as("%s begins with a promise", source).isTrue();
            promises.put(found.group(2), firstSentence(found.group(1)));
        }
        assertThat(promises).hasSizeGreaterThan(15);

        Map<String, String> listed = new TreeMap<>();
        Path page = Repository.path("docs/testing.md");
        ROW.matcher(Files.readString(page, UTF_8)).results().forEach(row -> {
            listed.put(row.group(2), row.group(1));
            assertThat(page.resolveSibling(row.group(3)).normalize().getFileName()).hasToString(row.group(2) + ".java");
        });
        assertThat(listed).isEqualTo(promises);
    }

    private static List<Path> sources() throws IOException {
        try (Stream<Path> files = Files.walk(Repository.path(SOURCES))) {
            return files.filter(file -> file.toString().matches(".*(LawsTest|Schedules)\\.java")).toList();
        }
    }

    private static String firstSentence(String javadoc) {
        String text = javadoc.lines().map(line -> line.substring(3).strip()).collect(Collectors.joining(" "));
        int end = text.indexOf(". ");
        return end < 0 ? text : text.substring(0, end + 1);
    }
}
