package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// What a file holds and what it should hold.
class StrictTest {
    @TempDir
    private Path folder;
    private Path file;
    private final Map<String, Object> state = new LinkedHashMap<>();

    @BeforeEach
    void save() throws IOException {
        file = folder.resolve("model.croft");
        state.put("a", Tensor.zeros(DType.FLOAT32, 2, 3));
        state.put("b", Tensor.zeros(DType.INT64, 5));
        state.put("c", Tensor.zeros(DType.BOOL));
        Checkpoint.save(file, state);
    }

    @Test
    void aFileThatHoldsWhatItShouldOpens() throws IOException {
        Map<String, TensorSpec> expected = TensorSpec.ofState(state);
        OpenOptions options = OpenOptions.defaults().strict(expected);
        try (Checkpoint c = Checkpoint.open(file, options)) {
            assertThat(c.compare(expected).isExact()).isTrue();
            assertThat(c.compare(expected)).hasToString("everything fits");
            assertThat(c.storages()).noneMatch(Storage::isMaterialized);
        }
    }

    @Test
    void whatDoesNotFitIsReportedCompletely() throws IOException {
        Map<String, TensorSpec> expected = new LinkedHashMap<>();
        expected.put("a", new TensorSpec(DType.FLOAT32, Shape.of(3, 2)));
        expected.put("b", new TensorSpec(DType.INT32, Shape.of(5)));
        expected.put("d", new TensorSpec(DType.INT32, Shape.of(1)));
        String report = "1 missing: 'd'; 1 unexpected: 'c'; "
                + "2 mismatched: 'a' is float32 [2, 3] and not float32 [3, 2], 'b' is int64 [5] and not int32 [5]";
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.compare(expected)).hasToString(report);
        }
        assertThatExceptionOfType(StateMismatchException.class)
                .isThrownBy(() -> Checkpoint.open(file, OpenOptions.defaults().strict(expected)))
                .withMessageContainingAll(file.toString(), report, "OpenOptions.strict").satisfies(e -> {
                    assertThat(e.report().missing()).containsExactly("d");
                    assertThat(e.report().unexpected()).containsExactly("c");
                    assertThat(e.report().mismatched()).hasSize(2);
                });
    }

    @Test
    void theMessageIsShortHoweverMuchIsMissing() throws IOException {
        Map<String, TensorSpec> expected = new LinkedHashMap<>(TensorSpec.ofState(state));
        IntStream.range(0, 10_000).forEach(i -> expected.put("x\n" + i, new TensorSpec(DType.INT8, Shape.of(1))));
        try (Checkpoint c = Checkpoint.open(file)) {
            MatchReport report = c.compare(expected);
            assertThat(report.missing()).hasSize(10_000);
            assertThat(report.toString()).hasSizeLessThan(200).startsWith("10000 missing: ")
                    .endsWith(" and 9990 more").doesNotContain("\n");
        }
    }

    @Test
    void tensorsThatWereNotChosenDoNotCount() throws IOException {
        Map<String, TensorSpec> expected = Map.of("a", new TensorSpec(DType.FLOAT32, Shape.of(2, 3)));
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().only("a").strict(expected))) {
            assertThat(c.names()).containsExactly("a");
        }
    }
}
