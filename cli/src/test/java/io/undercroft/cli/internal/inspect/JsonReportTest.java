package io.undercroft.cli.internal.inspect;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JsonReportTest {
    @TempDir
    private Path folder;

    @Test
    void aReportOfASetMayBeAsLongAsAllItsFilesJustify() throws IOException {
        Path one = folder.resolve("one.safetensors");
        Path two = folder.resolve("two.safetensors");
        Checkpoint.save(one, Map.of("a", Tensor.zeros(DType.UINT8, 100_000)));
        Checkpoint.save(two, Map.of("b", Tensor.zeros(DType.UINT8, 200_000)));
        Path index = Files.writeString(folder.resolve("model.safetensors.index.json"), """
                {"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}""");
        try (Checkpoint single = Checkpoint.open(index)) {
            assertThat(JsonReport.longest(single.fileSizes().values()))
                    .isEqualTo((64L << 20) + 64 * (Files.size(index) + Files.size(one) + Files.size(two)));
        }
    }
}
