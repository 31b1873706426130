package io.undercroft.properties.documents;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Repository;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/// Links of the pages lead to files and headings of this repository.
class LinksTest {
    private static final Pattern LINK = Pattern.compile("\\]\\((?![a-z]+:)([^)#\\s]*)(?:#([^)\\s]+))?\\)");
    private static final Pattern HEADING = Pattern.compile("(?m)^#+ (.*)$");

    @Test
    void everyLinkLeadsSomewhere() throws IOException {
        List<String> broken = new ArrayList<>();
        int links = 0;
        for (Path page : pages()) {
            Matcher link = LINK.matcher(Files.readString(page, UTF_8));
            while (link.find()) {
                links++;
                Path target = link.group(1).isEmpty() ? page : page.resolveSibling(link.group(1));
                if (!Files.exists(target) || (link.group(2) != null && !hasHeading(target, link.group(2)))) {
                    broken.add(page + ": " + link.group());
                }
            }
        }
        assertThat(broken).isEmpty();
        assertThat(links).isGreaterThan(100);
    }

    @Test
    void everyDecisionIsInTheIndex() throws IOException {
        Path folder = Repository.path("docs/decisions");
        String index = Files.readString(folder.resolve("README.md"), UTF_8);
        try (Stream<Path> pages = Files.list(folder)) {
            assertThat(pages.map(page -> page.getFileName().toString()).filter(name -> !name.equals("README.md")))
                    .isNotEmpty().allMatch(name -> index.contains("](" + name + ")"));
        }
    }

    private static boolean hasHeading(Path page, String anchor) throws IOException {
        return HEADING.matcher(Files.readString(page, UTF_8)).results()
                .map(heading -> heading.group(1).toLowerCase(Locale.ROOT).replaceAll("[^\\p{L}\\p{N} _-]", "")
                        .replace(' ', '-'))
                .anyMatch(anchor::equals);
    }

    static List<Path> pages() throws IOException {
        Path root = Repository.path("");
        List<Path> pages = new ArrayList<>(List.of(root.resolve("README.md"), root.resolve("CONTRIBUTING.md"),
                root.resolve("SECURITY.md"), root.resolve("CHANGELOG.md"), root.resolve("format-spec/SPEC.md")));
        try (Stream<Path> docs = Files.walk(root.resolve("docs"))) {
            docs.filter(page -> page.toString().endsWith(".md")).sorted().forEach(pages::add);
        }
        return pages;
    }
}
