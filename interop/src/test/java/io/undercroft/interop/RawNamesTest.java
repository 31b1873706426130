package io.undercroft.interop;

import static io.undercroft.testsupport.TestData.map;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Formats of nothing but tensors by name have the keys on the way to a tensor as they are, joined by slashes.
class RawNamesTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"x.safetensors", "x.npz", "x.gguf", "x.safetensors.index.json"})
    void aNestedStateHasThemForOtherReadersAndComesBackTheSame(String name) throws IOException {
        Map<String, Object> state = map("params", map("Dense/0", map("k~1", Tensor.of(1f, 2f)), "~", Tensor.of(3f)),
                "top", Tensor.of(4f));
        Path path = folder.resolve(name);
        Checkpoint.save(path, state);
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().strict(TensorSpec.ofState(state)))) {
            Map<?, ?> flat = (Map<?, ?>) c.state();
            assertThat(Set.copyOf(flat.keySet())).isEqualTo(Set.of("params/Dense/0/k~1", "params/~", "top"));
            for (String typed : TensorSpec.ofState(state).keySet()) {
                assertThat(c.contains(typed)).as(typed).isTrue();
            }
            assertThat(c.tensor("params/Dense~10/k~01").toFloatArray()).containsExactly(1, 2);
            assertThat(c.tensor("params/Dense/0/k~1").toFloatArray()).containsExactly(1, 2);
            assertThat(c.rows("params/Dense/0/k~1", 1, 2).toFloatArray()).containsExactly(2);
            Map<String, Object> target = map("params",
                    map("Dense/0", map("k~1", Tensor.zeros(DType.FLOAT32, 2)), "~", Tensor.zeros(DType.FLOAT32, 1)),
                    "top", Tensor.zeros(DType.FLOAT32, 1));
            assertThat(c.loadInto(target).isExact()).isTrue();
            assertThat(((Tensor) target.get("top")).getFloat(0)).isEqualTo(4);
        }
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().only("params/**"))) {
            assertThat(c.names()).containsExactlyInAnyOrder("params~1Dense~10~1k~01", "params~1~0");
            assertThat(c.tensor("params/~").getFloat(0)).isEqualTo(3);
        }
        assertThatExceptionOfType(NoSuchElementException.class)
                .isThrownBy(() -> Checkpoint.open(path, OpenOptions.defaults().only("params/*", "parms/**")))
                .withMessageContainingAll("'parms/**'", "for instance");
    }

    @ParameterizedTest
    @ValueSource(strings = {"x.safetensors", "x.npz", "x.gguf", "x.safetensors.index.json"})
    void twoPathsThatComeToOneNameAreRefused(String name) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(folder.resolve(name),
                        map("a", map("b", Tensor.of(1f)), "a/b", Tensor.of(2f))))
                .withMessageContainingAll("a~1b: its name in a file", "'a/b'");
        assertThat(folder).isEmptyDirectory();
    }

    @ParameterizedTest
    @ValueSource(strings = {"x.safetensors", "x.npz"})
    void aNameThatWouldBeTooLongWhenItIsOpenedIsRefused(String name) throws IOException {
        Map<String, Object> longest = map("a".repeat(2000), map("b".repeat(2094), Tensor.of(1f)));
        Path path = folder.resolve(name);
        Checkpoint.save(path, longest);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.names()).hasSize(1);
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(path,
                        map("a".repeat(2000), map("b".repeat(2095), Tensor.of(1f)))))
                .withMessageContaining("4096");
    }
}
