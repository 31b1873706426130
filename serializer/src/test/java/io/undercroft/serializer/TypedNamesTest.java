package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.map;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Names as users type them.
class TypedNamesTest {
    private static final String FLAX = "params/Dense_0/kernel";

    @TempDir
    private Path folder;

    private Path saved(Object... entries) throws IOException {
        Path path = folder.resolve("model.croft");
        Checkpoint.save(path, map(entries));
        return path;
    }

    @Test
    void aKeyWithSlashesIsTypedAsItIs() throws IOException {
        try (Checkpoint c = Checkpoint.open(saved(FLAX, Tensor.of(1f, 2f), "a~b", Tensor.of(3f)))) {
            assertThat(c.names()).containsExactly("params~1Dense_0~1kernel", "a~0b");
            assertThat(c.tensor(FLAX)).isSameAs(c.tensor("params~1Dense_0~1kernel"));
            assertThat(c.tensor("a~b").getFloat(0)).isEqualTo(3);
            assertThat(c.rows(FLAX, 1, 2).getFloat(0)).isEqualTo(2);
            assertThat(c.contains(FLAX)).isTrue();
            assertThat(c.contains("params/Dense_0")).isFalse();
        }
    }

    @Test
    void patternsMatchKeysAsTheyAre() throws IOException {
        Path path = saved(FLAX, Tensor.of(1f), "opt/count", Tensor.of(2f));
        for (String pattern : new String[]{"params/**", FLAX, "params~1Dense_0~1kernel", "*/*/kernel"}) {
            try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().only(pattern))) {
                assertThat(c.names()).containsExactly("params~1Dense_0~1kernel");
                assertThat(c.tensor(FLAX).getFloat(0)).isEqualTo(1);
                assertThat(c.contains("opt/count")).isFalse();
            }
        }
    }

    @Test
    void aNameAsItIsComesFirst() throws IOException {
        try (Checkpoint c = Checkpoint.open(saved("a/b", Tensor.of(1f), "a", Map.of("b", Tensor.of(2f))))) {
            assertThat(c.tensor("a/b").getFloat(0)).isEqualTo(2);
            assertThat(c.tensor("a~1b").getFloat(0)).isEqualTo(1);
        }
    }

    @Test
    void keysThatLeadToSeveralTensorsAreRefusedWithTheirNames() throws IOException {
        Path path = saved("a/b", Map.of("c", Tensor.of(1f)), "a", Map.of("b/c", Tensor.of(2f)));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.contains("a/b/c")).isFalse();
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> c.tensor("a/b/c"))
                    .withMessageContainingAll("but 2 that have these keys: ", "'a~1b/c'", "'a/b~1c'",
                            "; name one of them as it is");
            assertThat(c.tensor("a~1b/c").getFloat(0)).isEqualTo(1);
        }
    }

    @Test
    void suggestionsAreWhatToType() throws IOException {
        String longest = "block/" + "x".repeat(100);
        try (Checkpoint c = Checkpoint.open(saved(FLAX, Tensor.of(1f), longest, Tensor.of(2f)))) {
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> c.tensor("params/Dense_0/kernal"))
                    .withMessageEndingWith("; did you mean 'params/Dense_0/kernel'?");
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> c.tensor(longest + "y"))
                    .withMessageEndingWith("; did you mean '" + longest + "'?");
        }
    }

    @Test
    void aStateIsLoadedFromAFileWithTheSameKeys() throws IOException {
        Path path = saved("model/w", Tensor.of(1f, 2f), "model/a/b", Tensor.of(3f));
        Map<String, Object> state = map("model",
                map("w", Tensor.zeros(DType.FLOAT32, 2), "a/b", Tensor.zeros(DType.FLOAT32, 1)));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().strict(TensorSpec.ofState(state)))) {
            assertThat(c.loadInto(state).isExact()).isTrue();
            assertThat(c.tensor("model/a~1b")).isSameAs(c.tensor("model~1a~1b"));
        }
        Map<?, ?> model = (Map<?, ?>) state.get("model");
        assertThat(((Tensor) model.get("w")).toFloatArray()).containsExactly(1, 2);
        assertThat(((Tensor) model.get("a/b")).toFloatArray()).containsExactly(3);
    }

    @Test
    void aNameThatIsExpectedIsTakenForNoOther() throws IOException {
        Map<String, Object> state = map("a/b", Tensor.zeros(DType.FLOAT32, 1), "a",
                map("b", Tensor.zeros(DType.FLOAT32, 1)));
        try (Checkpoint c = Checkpoint.open(saved("a/b", Tensor.of(1f)))) {
            assertThat(c.compare(TensorSpec.ofState(state)).missing()).containsExactly("a/b");
        }
    }

    @Test
    void salvageTakesKeysAsTheyAre() throws IOException {
        try (Salvage salvage = CroftFile.open(saved(FLAX, Tensor.of(1f))).salvage()) {
            assertThat(salvage.tensor(FLAX).getFloat(0)).isEqualTo(1);
            assertThatExceptionOfType(NoSuchElementException.class)
                    .isThrownBy(() -> salvage.tensor("params/Dense_0/kernal"))
                    .withMessageEndingWith("did you mean 'params/Dense_0/kernel'?");
        }
    }

    @Test
    void aNameOf4096BytesIsSavedAndFound() throws IOException {
        String name = "n".repeat(4096);
        try (Checkpoint c = Checkpoint.open(saved(name, Tensor.of(1f)))) {
            assertThat(c.names()).containsExactly(name);
            assertThat(c.tensor(name).getFloat(0)).isEqualTo(1);
            assertThat(c.verify().damages()).isEmpty();
        }
    }
}
