package io.undercroft.interop.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.interop.internal.ShardSplit;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Models that are written in several files.
class ShardedDraftTest {
    @TempDir
    private Path folder;
    private Path index;

    @BeforeEach
    void nameTheIndex() {
        index = folder.resolve("model.safetensors.index.json");
    }

    private static SaveOptions shards(String size) {
        return SaveOptions.defaults().setting("safetensors.shard", size);
    }

    private static Tensor numbers(long count) {
        return Tensor.arange(DType.FLOAT32, count);
    }

    /// {@return which tensors are in which file, as the index says}
    private Map<String, Set<String>> layout() throws IOException {
        Map<?, ?> json = new ObjectMapper().readValue(index.toFile(), Map.class);
        return ((Map<?, ?>) json.get("weight_map")).entrySet().stream()
                .collect(Collectors.groupingBy(entry -> entry.getValue().toString(), LinkedHashMap::new,
                        Collectors.mapping(entry -> entry.getKey().toString(), Collectors.toSet())));
    }

    private static String file(int number, int count) {
        return "model-0000%s-of-0000%s.safetensors".formatted(number, count);
    }

    @Test
    void aNewFileStartsWhereOneWouldBeTooLarge() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (String name : List.of("a", "b", "c", "d", "e")) {
            state.put(name, numbers(10));
        }
        Checkpoint.save(index, state, shards("80"));

        assertThat(layout()).isEqualTo(Map.of(file(1, 3), Set.of("a", "b"), file(2, 3), Set.of("c", "d"), file(3, 3),
                Set.of("e")));
        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.format()).isEqualTo("safetensors-index");
            assertThat(c.names()).containsExactly("a", "b", "c", "d", "e");
            assertThat(c.metadata()).isEqualTo(Map.of("total_size", "200"));
            state.forEach((name, tensor) -> assertThat(c.tensor(name).contentEquals(tensor)).isTrue());
        }
    }

    @Test
    void aLargeTensorHasAFileOfItsOwn() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        state.put("small", numbers(1));
        state.put("large", numbers(100));
        state.put("next", numbers(2));
        Checkpoint.save(index, state, shards("64B"));

        assertThat(layout()).isEqualTo(Map.of(file(1, 2), Set.of("large"), file(2, 2), Set.of("small", "next")));
        assertThat(folder.resolve(file(1, 2))).satisfies(file -> {
            try (Checkpoint c = Checkpoint.open(file)) {
                assertThat(c.names()).containsExactly("large");
            }
        });
    }

    @Test
    void whatSharesBytesIsNeverParted() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        Tensor base = numbers(20).view(4, 5);
        Tensor other = numbers(20);
        state.put("view", base.narrow(0, 1, 2));
        state.put("other", other);
        state.put("base", base);
        state.put("again", base);
        state.put("tied", other);
        state.put("view again", state.get("view"));
        Checkpoint.save(index, state, shards("80"));

        assertThat(layout()).as("stored under the first names")
                .isEqualTo(Map.of(file(1, 2), Set.of("view", "base"), file(2, 2), Set.of("other")));
        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.names()).containsExactlyInAnyOrderElementsOf(state.keySet());
            assertThat(c.storages()).hasSize(2);
            assertThat(c.tensor("view").storage()).isSameAs(c.tensor("base").storage());
            assertThat(c.tensor("tied")).isSameAs(c.tensor("other"));
            assertThat(c.tensor("view again")).isSameAs(c.tensor("view"));
            assertThat(c.metadata()).isEqualTo(Map.of("total_size", "200"));
        }
    }

    @Test
    void aCopyOfEachTensorMayGoAnywhere() throws IOException {
        Tensor tied = numbers(10);
        Map<String, Tensor> state = new LinkedHashMap<>();
        state.put("a", tied);
        state.put("b", tied);
        Checkpoint.save(index, state, shards("40").setting("safetensors.sharing", "copy"));

        assertThat(layout()).isEqualTo(Map.of(file(1, 2), Set.of("a"), file(2, 2), Set.of("b")));
    }

    @Test
    void metadataGoesIntoTheIndexAndTheFilesAndTheSizeIsTrue() throws IOException {
        Checkpoint.save(index, Map.of("a", numbers(1)),
                SaveOptions.defaults().metadata(Map.of("format", "pt", "total_size", "7", "ü\"", "\n\uD83D\uDE00")));

        assertThat(Files.readString(index)).containsOnlyOnce("\"total_size\": 4").contains("\\u00fc\\\"", "\\ud83d");
        try (Checkpoint c = Checkpoint.open(index);
                Checkpoint shard = Checkpoint.open(folder.resolve("model-00001-of-00001.safetensors"))) {
            assertThat(c.metadata())
                    .isEqualTo(Map.of("total_size", "4", "format", "pt", "ü\"", "\n\uD83D\uDE00"));
            assertThat(shard.metadata()).isEqualTo(Map.of("format", "pt", "ü\"", "\n\uD83D\uDE00"));
        }
    }

    @Test
    void theFilesAreCalledLikeTheIndex() throws IOException {
        index = folder.resolve("model.fp16.SAFETENSORS.index.json");
        Checkpoint.save(index, Map.of("a", numbers(1)));

        assertThat(layout().keySet()).containsExactly("model.fp16-00001-of-00001.safetensors");
    }

    @ParameterizedTest
    @ValueSource(strings = {".safetensors.index.json", ".x.safetensors.index.json", "a:b.safetensors.index.json",
            "other.json"})
    void aNameThatNoIndexCanHaveIsRefused(String name) {
        assertThatThrownBy(() -> Checkpoint.save(folder.resolve(name), Map.of("a", numbers(1)),
                SaveOptions.defaults().format("safetensors-index"))).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("NAME.safetensors.index.json");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void anIndexIsKnownHoweverMuchItSaysOfTheModel() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        Tensor tied = numbers(1);
        for (int i = 0; i < 1500; i++) {
            state.put("layer." + i + ".weight", tied);
        }
        Checkpoint.save(index, state, SaveOptions.defaults().metadata(Map.of("config", "x".repeat(5_000_000))));

        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.names()).hasSize(1500);
            assertThat(c.storages()).hasSize(1);
        }
    }

    @Test
    void theTotalSizeIsNoFurtherNameOfATensor() throws IOException {
        Checkpoint.save(index, Map.of("4", numbers(1)));

        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.names()).containsExactly("4");
            assertThat(c.metadata()).containsEntry("total_size", "4");
        }
    }

    @Test
    void aSetThatIsThereStaysAsItIs() throws IOException {
        Checkpoint.save(index, Map.of("a", numbers(1)));

        assertThatThrownBy(() -> Checkpoint.save(index, Map.of("a", numbers(2))))
                .isInstanceOf(FileAlreadyExistsException.class).hasMessageContaining("write to another directory");

        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.tensor("a").numel()).isEqualTo(1);
        }
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).hasSize(2);
        }
    }

    @Test
    void aStateWithoutTensorsIsRefused() {
        assertThatThrownBy(() -> Checkpoint.save(index, Map.of())).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no tensors");
        assertThat(folder).isEmptyDirectory();
    }

    @ParameterizedTest
    @CsvSource({"1,1", "5GB,5000000000", "1.5 kb,1500", "512MiB,536870912", "2T,2000000000000", "1Ki,1024", "7B,7",
            "999999999999999999TB,9223372036854775807"})
    void sizesAreReadAsPythonDoes(String text, long nbytes) {
        assertThat(ShardSplit.limit(shards(text), ShardedDraft.SETTING)).isEqualTo(nbytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0", "0.1", "-1", "GB", "5 apples", "1e9", "5GBB"})
    void whatIsNoSizeIsRefused(String text) {
        assertThatThrownBy(() -> ShardSplit.limit(shards(text), ShardedDraft.SETTING))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("safetensors.shard");
    }

    @Test
    void filesAreAsLargeAsThoseOfTransformersByDefault() {
        assertThat(ShardSplit.limit(SaveOptions.defaults(), ShardedDraft.SETTING)).isEqualTo(50_000_000_000L);
    }
}
