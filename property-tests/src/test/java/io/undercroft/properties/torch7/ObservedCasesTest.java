package io.undercroft.properties.torch7;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
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
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
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
    private static final List<Step> ALL_LINES = Stream.of("storage", "mapping", "extra").map(ObservedCase::in)
            .flatMap(List::stream).map(ObservedCase::steps).flatMap(List::stream).toList();
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
        assertThat(ALL_LINES).extracting(Step::name).containsAll(DIFFERENCES.rows().keySet());
    }

    @Test
    void everyLineOfACaseIsOnceInTheFileOfOperations() {
        assertThat(OperationsFile.read().entrySet())
                .extracting(Map.Entry::getKey, line -> ObservedCase.withOwnNames(line.getValue().lua()))
                .containsExactlyElementsOf(ALL_LINES.stream().map(step -> tuple(step.name(), step.lua())).toList());
    }

    @Test
    void theLinesWithoutOperationsAreThoseThatConcernLuaAlone() {
        Predicate<String> isNotRun = name -> DIFFERENCES.find(name).filter(row -> !row.isApplicable()).isPresent();
        assertThat(ALL_LINES.stream().filter(step -> step.operations().isEmpty()).map(Step::name)
                .filter(isNotRun.negate()))
                .containsExactly("storage/refcount 1", "mapping/sharedmem-basic 1", "mapping/sharedmem-basic 15");
    }

    @Test
    void thePageOfTheDifferencesCountsThem() throws IOException {
        long cases = ALL_LINES.stream().map(step -> step.name().split(" ", 2)[0]).distinct().count();
        long different = DIFFERENCES.rows().values().stream().filter(Row::isApplicable).count();
        assertThat(Files.readString(Differences.PAGE).replaceAll("\\s+", " "))
                .contains("has %s lines of Lua, in %s cases".formatted(ALL_LINES.size(), cases))
                .contains("the same but for the %s that follow".formatted(different))
                .contains("and %s lines that are not run".formatted(DIFFERENCES.rows().size() - different));
    }

    private Stream<DynamicNode> cases(String file) {
        return ObservedCase.in(file).stream()
                .map(observed -> dynamicContainer(observed.id(), tests(observed)));
    }

    /// Carries out all lines of a case, and gives a test for each that looks at its outcome.
    private List<DynamicNode> tests(ObservedCase observed) {
        List<DynamicNode> tests = new ArrayList<>();
        Path directory = this.directory.resolve(observed.id());
        try (CaseRun run = new CaseRun(Files.createDirectory(directory))) {
            // It held the case itself when Torch7 was asked, and one case lists it.
            Files.createFile(directory.resolve("case.lua"));
            for (Step step : observed.steps()) {
                Optional<Row> row = DIFFERENCES.find(step.name());
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
}
