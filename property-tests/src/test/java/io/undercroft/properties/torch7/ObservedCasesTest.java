package io.undercroft.properties.torch7;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.jupiter.api.DynamicContainer.dynamicContainer;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import io.undercroft.properties.torch7.Differences.Row;
import io.undercroft.properties.torch7.ObservedCase.Step;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// Asks our storages what was asked of Torch7's, line by line, and compares the answers.
class ObservedCasesTest {
    private static final List<String> FILES = List.of("storage", "mapping", "extra");
    private static final Differences DIFFERENCES = Differences.read();

    @TempDir
    Path directory;

    @AfterAll
    static void removeSharedMemory() throws IOException {
        if (OS.LINUX.isCurrentOs()) {
            ObservedCase.removeSharedMemory();
        }
    }

    @TestFactory
    Stream<DynamicNode> storagesInMemory() {
        return cases("storage");
    }

    @TestFactory
    @EnabledOnOs(OS.LINUX)
    Stream<DynamicNode> storagesOnFilesAndSharedMemory() {
        return cases("mapping");
    }

    @TestFactory
    @EnabledOnOs(OS.LINUX)
    Stream<DynamicNode> whatElseWasAsked() {
        return cases("extra");
    }

    @Test
    void everyRowOfTheDifferencesNamesALineOfACase() {
        assertThat(FILES.stream().flatMap(file -> ObservedCase.in(file).stream()
                .flatMap(observed -> observed.steps().stream().map(step -> nameOf(file, observed, step)))))
                .containsAll(DIFFERENCES.rows().keySet());
    }

    @Test
    void thePageOfTheDifferencesCountsThem() throws IOException {
        List<ObservedCase> all = FILES.stream().flatMap(file -> ObservedCase.in(file).stream()).toList();
        long different = DIFFERENCES.rows().values().stream().filter(Row::isApplicable).count();
        assertThat(Files.readString(Differences.PAGE).replaceAll("\\s+", " "))
                .contains("has %d lines of Lua, in %d cases".formatted(
                        all.stream().mapToInt(observed -> observed.steps().size()).sum(), all.size()))
                .contains("the same but for the %d that follow".formatted(different))
                .contains("and %d lines that are not run".formatted(DIFFERENCES.rows().size() - different));
    }

    private Stream<DynamicNode> cases(String file) {
        return ObservedCase.in(file).stream()
                .map(observed -> dynamicContainer(observed.id(), tests(file, observed)));
    }

    /// Carries out all lines of a case, and gives a test for each that looks at its outcome.
    private List<DynamicNode> tests(String file, ObservedCase observed) {
        List<DynamicNode> tests = new ArrayList<>();
        try (CaseRun run = new CaseRun(Files.createDirectory(directory.resolve(observed.id())))) {
            for (Step step : observed.steps()) {
                Optional<Row> row = DIFFERENCES.find(nameOf(file, observed, step));
                Optional<Outcome> outcome = row.isEmpty() || row.get().isApplicable()
                        ? Optional.of(run.run(step))
                        : Optional.empty();
                tests.add(dynamicTest(step.lua(), () -> {
                    assumeTrue(isAllowed(observed), "only root may");
                    check(step, row, outcome);
                }));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return tests;
    }

    private static void check(Step step, Optional<Row> row, Optional<Outcome> outcome) {
        row.ifPresent(listed -> assertThat(List.of(listed.lua(), listed.torch7()))
                .as("the line that is listed, and Torch7's answer").containsExactly(step.lua(), step.answer()));
        if (outcome.isPresent() && row.isPresent()) {
            assertThat(outcome.get().describe()).isEqualTo(row.get().ours());
            assertThat(outcome.get().isThatOf(step)).as("does as Torch7 did, and should not be listed").isFalse();
        } else if (outcome.isPresent()) {
            outcome.get().checkAgainst(step);
        }
    }

    private static boolean isAllowed(ObservedCase observed) {
        return !observed.id().endsWith("-as-root") || System.getProperty("user.name").equals("root");
    }

    private static String nameOf(String file, ObservedCase observed, Step step) {
        return file + "/" + observed.id() + " " + step.number();
    }
}
