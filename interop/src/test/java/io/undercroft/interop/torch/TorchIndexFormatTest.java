package io.undercroft.interop.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Models in several files of `torch.save`.
class TorchIndexFormatTest {
    private static final String MAP = "{'metadata':{'total_size':68},'weight_map':{'head':'1.bin','b':'2.bin',"
            + "'wte':'1.bin','a~/b':'2.bin'}}";

    @TempDir
    private Path folder;
    private Path index;

    @BeforeEach
    void write() throws IOException {
        Tensor weight = Tensor.arange(DType.FLOAT32, 15);
        Map<String, Object> first = new LinkedHashMap<>();
        first.put("wte", weight);
        first.put("head", weight.view(5, 3));
        first.put("_note", List.of(1L));
        save("1.bin", first);
        save("2.bin", Map.of("b", Tensor.of(2f), "a~/b", Tensor.of(3f), "unnamed", Tensor.of(4f)));
        index = write(MAP);
    }

    private void save(String name, Object state) throws IOException {
        Checkpoint.save(folder.resolve(name), state, SaveOptions.defaults().format("torch-zip"));
    }

    private Path write(String json) throws IOException {
        return Files.writeString(folder.resolve("pytorch_model.bin.index.json"), json.replace('\'', '"'));
    }

    @Test
    void theShardsAreOneState() throws IOException {
        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.format()).isEqualTo("torch-index");
            assertThat(c.names()).containsExactly("head", "b", "wte", "a~0~1b");
            assertThat(c.metadata()).isEqualTo(Map.of("total_size", "68"));
            assertThat(c.tensor("head").storage()).isSameAs(c.tensor("wte").storage());
            assertThat(c.tensor("a~0~1b").getFloat(0)).isEqualTo(3);
            assertThat(c.verify().isIntact()).isTrue();
            assertThat(c.verify().unverifiedBytes()).isZero();
        }
    }

    @Test
    void someTensorsAreOpened() throws IOException {
        try (Checkpoint c = Checkpoint.open(index, OpenOptions.defaults().only("wte").inMemory())) {
            assertThat(c.names()).containsExactly("wte");
            assertThat(c.storages()).singleElement().matches(Storage::isMaterialized);
            assertThat(c.tensor("wte").getFloat(14)).isEqualTo(14);
        }
        try (Checkpoint c = Checkpoint.open(index, OpenOptions.defaults().onMeta())) {
            assertThat(c.storages()).hasSize(3).allMatch(Storage::isMeta);
        }
    }

    @Test
    void aFixtureOfTheOldFormatIsAShardToo() throws IOException {
        Files.copy(Path.of("..", "test-support", "fixtures", "pytorch", "tied.legacy.pt"), folder.resolve("2.bin"),
                StandardCopyOption.REPLACE_EXISTING);
        String name;
        try (Checkpoint c = Checkpoint.open(folder.resolve("2.bin"))) {
            assertThat(c.format()).isEqualTo("torch-legacy");
            name = c.names().getFirst();
        }
        write("{'weight_map':{'" + name + "':'2.bin','wte':'1.bin'}}");
        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.names()).startsWith(name, "wte");
        }
    }

    @Test
    void aSetIsAdoptedAsItIs() throws IOException {
        Path thin = folder.resolve("thin.croft");
        try (Checkpoint c = Checkpoint.open(index)) {
            Checkpoint.save(thin, c.tree(), SaveOptions.defaults().base(index).wholeStorages());
        }
        try (Checkpoint c = Checkpoint.open(thin)) {
            assertThat(c.verify().unverifiedBytes()).isEqualTo(68);
        }
        try (Checkpoint c = Checkpoint.open(thin, OpenOptions.defaults().root(folder))) {
            assertThat(c.tensor("head").storage()).isSameAs(c.tensor("wte").storage());
            assertThat(c.tensor("head").getFloat(4, 2)).isEqualTo(14);
        }
    }

    @Test
    void whatDoesNotFitIsRefusedWithIndexAndShard() throws IOException {
        assertRefused("{'weight_map':{'_note':'1.bin'}}", "'_note'", "'1.bin'");
        assertRefused("{'weight_map':{'wte':'3.bin'}}", "'3.bin' is missing");
        assertRefused("{'weight_map':{'wte':'../1.bin'}}", "'../1.bin' is no plain name");
        Files.write(folder.resolve("cut.bin"), Arrays.copyOf(Files.readAllBytes(folder.resolve("1.bin")), 300));
        assertRefused("{'weight_map':{'wte':'cut.bin'}}", "cut.bin", "a shard of");
        Files.writeString(folder.resolve("text.bin"), "text");
        assertRefused("{'weight_map':{'wte':'text.bin'}}", "text.bin", "none of the formats [torch-zip, torch-legacy");
        Files.writeString(folder.resolve("lfs.bin"), "version https://git-lfs.github.com/spec/v1\noid sha256:00\n");
        assertRefused("{'weight_map':{'wte':'lfs.bin'}}", "lfs.bin", "a pointer of Git LFS", "git lfs pull");
        save("list.bin", List.of(Tensor.of(1f)));
        assertRefused("{'weight_map':{'wte':'list.bin'}}", "list.bin", "no tensors by name");
    }

    private void assertRefused(String json, String... words) throws IOException {
        write(json);
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(index).close()).satisfies(
                e -> assertThat(e.getMessage()).contains(words).contains("pytorch_model.bin.index.json")
                        .doesNotContain("\n"));
    }
}
