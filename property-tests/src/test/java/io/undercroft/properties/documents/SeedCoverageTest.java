package io.undercroft.properties.documents;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.properties.Repository;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Member;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;

/// `docs/seed-coverage.md` says where each thing that the documents describe is done and tested. What it names has to
/// be there, and it has to name all members of the classes.
class SeedCoverageTest {
    private static final List<String> PACKAGES = List.of("io.undercroft.storage", "io.undercroft.mmap",
            "io.undercroft.serializer");
    private static final Pattern NAME = Pattern.compile("`([^`]+)`");
    private static final Pattern TEST = Pattern.compile("@(Test|ParameterizedTest|TestFactory|Property)\\b");
    private static final Map<String, String> TEST_SOURCES = testSources();

    /// A row of a table: what is described, where it is done, and which tests show it.
    private record Row(String section, String what, String java, String tests) {}

    @Test
    void everyMethodThatThePageNamesExists() {
        assertThat(rows().flatMap(row -> names(row.java())).filter(name -> !isThere(name))).isEmpty();
    }

    @Test
    void everyTestThatThePageNamesExists() {
        assertThat(rows().flatMap(row -> names(row.tests())).filter(name -> !isTest(name))).isEmpty();
    }

    @Test
    void everyRowNamesWhereItIsDoneAndTested() {
        assertThat(rows()).hasSizeGreaterThan(150).allSatisfy(row -> {
            assertThat(names(row.java())).as(row.what()).isNotEmpty();
            assertThat(names(row.tests())).as(row.what()).isNotEmpty();
        });
    }

    @Test
    void everyMemberOfPyTorchsClassesHasARow() throws IOException {
        JsonNode members = json("test-support/fixtures/pytorch/storage-members.json");
        for (String section : List.of("UntypedStorage", "TypedStorage", "storage classes")) {
            assertThat(described(section)).containsExactlyInAnyOrderElementsOf(
                    StreamSupport.stream(members.get(section).spliterator(), false).map(JsonNode::textValue).toList());
        }
    }

    @Test
    void everyMethodOfTorch7sStoragesHasARow() throws IOException {
        JsonNode cases = json("test-support/fixtures/torch7/observed/storage.luajit.json").get("cases");
        String listed = StreamSupport.stream(cases.spliterator(), false)
                .filter(observed -> observed.get("id").textValue().equals("typename-and-misc"))
                .flatMap(observed -> StreamSupport.stream(observed.get("steps").spliterator(), false))
                .filter(step -> step.get("lua").textValue().contains("torch.CharStorage"))
                .map(step -> step.get("result").textValue()).findFirst().orElseThrow();
        assertThat(described("Torch7's methods")).containsExactlyInAnyOrder(listed.replace("\"", "").split(" ", -1));
    }

    // ---- the page ----

    private static Stream<Row> rows() {
        List<Row> rows = new ArrayList<>();
        String section = "";
        for (String line : lines()) {
            if (line.startsWith("## ")) {
                section = line.substring(3);
            } else if (line.startsWith("| ") && !line.startsWith("| what |")) {
                String[] cells = line.split("\\|", -1);
                rows.add(new Row(section, cells[1].strip(), cells[2], cells[3]));
            }
        }
        return rows.stream();
    }

    private static List<String> lines() {
        try {
            return Files.readAllLines(Repository.path("docs/seed-coverage.md"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Stream<String> names(String cell) {
        return NAME.matcher(cell).results().map(name -> name.group(1));
    }

    /// What the rows of a section describe, each a few names in the first cell.
    private static Stream<String> described(String section) {
        return rows().filter(row -> row.section().endsWith(section)).flatMap(row -> names(row.what()));
    }

    private static JsonNode json(String path) throws IOException {
        File file = Repository.path(path).toFile();
        return new ObjectMapper().readTree(file);
    }

    // ---- what it names ----

    /// Whether there is a public class, or method or constant of it, as `Class` or `Class#member`.
    private static boolean isThere(String name) {
        String[] parts = name.split("#", 2);
        return PACKAGES.stream().flatMap(space -> type(space + "." + parts[0].replace('.', '$')))
                .anyMatch(type -> parts.length == 1
                        || Stream.<Member>concat(Stream.of(type.getMethods()), Stream.of(type.getFields()))
                                .anyMatch(member -> member.getName().equals(parts[1])));
    }

    private static Stream<Class<?>> type(String name) {
        try {
            return Stream.of(Class.forName(name));
        } catch (ClassNotFoundException e) {
            return Stream.empty();
        }
    }

    /// Whether the source of a test class has a method of that name that is said to be a test: after the end of the
    /// method before it.
    private static boolean isTest(String name) {
        String[] parts = name.split("#", 2);
        String source = TEST_SOURCES.getOrDefault(parts[0], "");
        return Pattern.compile(" " + parts[1] + "\\(").matcher(source).results()
                .map(method -> source.substring(0, method.start()))
                .anyMatch(before -> TEST.matcher(before.substring(before.lastIndexOf("}\n") + 1)).find());
    }

    private static Map<String, String> testSources() {
        Map<String, String> sources = new HashMap<>();
        try (Stream<Path> modules = Files.list(Repository.path("."))) {
            for (Path tests : modules.map(module -> module.resolve("src/test/java")).filter(Files::isDirectory)
                    .toList()) {
                try (Stream<Path> files = Files.walk(tests)) {
                    files.filter(file -> file.toString().endsWith("Test.java"))
                            .forEach(file -> sources.put(file.getFileName().toString().replace(".java", ""),
                                    read(file)));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return sources;
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
