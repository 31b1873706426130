package io.undercroft.interop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// What messages advise for elements that a format does not have.
class ElementsOfFormatsTest {
    private static final String CONVERSION = "Tensor.to(DType.FLOAT32)";

    @TempDir
    Path folder;

    @Test
    void moreThanTheLimitIsWrittenWhereThatIsAllowed() throws IOException {
        Map<String, Tensor> state = Map.of("w", Tensor.full(DType.UINT8, 7, 1).expand(2 << 20));
        Path file = folder.resolve("w.safetensors");
        assertThatThrownBy(() -> Checkpoint.save(file, state, SaveOptions.defaults().largest(1 << 20)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("allow more with SaveOptions.largest");
        assertThat(file).doesNotExist();

        Checkpoint.save(file, state, SaveOptions.defaults().largest(3 << 20));
        assertThat(file.toFile().length()).isGreaterThan(2 << 20);
    }

    @ParameterizedTest
    @ValueSource(strings = {"pt", "safetensors", "npy", "npz", "gguf", "t7"})
    void whatIsAdvisedWorks(String suffix) throws IOException {
        Path file = folder.resolve("out." + suffix);
        List<DType> all = Stream
                .concat(DType.values().stream(), Stream.of(DType.opaque("gguf:Q4_0", 144), DType.opaque("mine", 24)))
                .toList();
        for (DType dtype : all) {
            Tensor tensor = Tensor.zeros(dtype, 8);
            Object state = suffix.equals("npy") ? tensor : Map.of("w", tensor);
            try {
                Checkpoint.save(file, state);
            } catch (IllegalArgumentException refused) {
                String said = refused.getMessage();
                assertThat(said).as("%s", dtype).contains("save a .croft file");
                Checkpoint.save(folder.resolve("out.croft"), state);
                if (said.contains(".gguf")) {
                    Checkpoint.save(folder.resolve("out.gguf"), Map.of("w", tensor));
                }
                if (said.contains("SaveOptions.dtype(DType.FLOAT32)")) {
                    Checkpoint.save(file, state, SaveOptions.defaults().dtype(DType.FLOAT32));
                }
                if (said.contains(CONVERSION)) {
                    Tensor converted = tensor.to(DType.FLOAT32);
                    Checkpoint.save(file, suffix.equals("npy") ? converted : Map.of("w", converted));
                } else if (dtype.kind() != DType.Kind.COMPLEX) {
                    assertThatThrownBy(() -> tensor.to(DType.FLOAT32)).as("%s", dtype)
                            .isInstanceOf(UnsupportedOperationException.class);
                }
            }
        }
    }
}
