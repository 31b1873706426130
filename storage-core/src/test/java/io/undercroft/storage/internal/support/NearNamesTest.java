package io.undercroft.storage.internal.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class NearNamesTest {
    private static final List<String> NAMES = List.of("float32", "float64", "int32", "uint8");

    @Test
    void aTypingErrorIsFound() {
        assertThat(NearNames.question("flaot32", NAMES)).contains("; did you mean 'float32'?");
        assertThat(NearNames.question("FLOAT64", NAMES)).hasValueSatisfying(
                question -> assertThat(question).startsWith("; did you mean 'float64'"));
        assertThat(NearNames.question("float34", NAMES)).contains("; did you mean 'float32' or 'float64'?");
        assertThat(NearNames.edits("unit8", "uint8")).isOne();
        assertThat(NearNames.edits("", "abc")).isEqualTo(3);
        assertThat(NearNames.edits("kitten", "sitting")).isEqualTo(3);
    }

    @Test
    void nothingIsAskedIfNoNameIsNear() {
        assertThat(NearNames.question("decimal", NAMES)).isEmpty();
        assertThat(NearNames.question("x".repeat(10_000), List.of("x".repeat(10_000)))).isEmpty();
        assertThat(NearNames.question("a", List.of())).isEmpty();
    }
}
