package io.undercroft.interop.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Models in several files.
class SafetensorsIndexFormatTest {
    private static final String MAP = "{'metadata':{'total_size':20,'by':'us','more':[1]},'weight_map':{'c':'2.safetensors',"
            + "'a':'1.safetensors','b':'1.safetensors'}}\n";

    @TempDir
    private Path top;
    private Path folder;
    private Path index;

    @BeforeEach
    void write() throws IOException {
        folder = Files.createDirectory(top.resolve("model"));
        Tensor a = Tensor.of(1f, 2f);
        Map<String, Tensor> first = new LinkedHashMap<>();
        first.put("a", a);
        first.put("b", Tensor.of(3f));
        first.put("tied", a);
        first.put("extra", Tensor.of(4f));
        Checkpoint.export(folder.resolve("1.safetensors"), first);
        Checkpoint.export(folder.resolve("2.safetensors"), Map.of("c", Tensor.of(5L)));
        index = write(MAP);
    }

    private Path write(String json) throws IOException {
        return Files.writeString(folder.resolve("model.safetensors.index.json"), json.replace('\'', '"'));
    }

    @Test
    void theShardsAreOneState() throws IOException {
        Storage kept;
        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.format()).isEqualTo("safetensors-index");
            assertThat(c.names()).containsExactly("c", "a", "b", "tied");
            assertThat(c.metadata()).isEqualTo(Map.of("total_size", "20", "by", "us"));
            assertThat(c.tensor("tied")).isSameAs(c.tensor("a"));
            assertThat(c.tensor("c").getLong(0)).isEqualTo(5);
            assertThat(c.verify().damages()).isEmpty();
            kept = c.tensor("b").storage().retain();
        }
        assertThat(Tensor.of(kept, DType.FLOAT32, 0, Shape.of(1), 1)
                .getFloat(0)).isEqualTo(3);
        kept.release();
    }

    @Test
    void someTensorsAreOpened() throws IOException {
        try (Checkpoint c = Checkpoint.open(index, OpenOptions.defaults().only("tied").inMemory())) {
            assertThat(c.names()).containsExactly("tied");
            assertThat(c.storages()).singleElement().matches(Storage::isMaterialized);
        }
    }

    private FormatException refusal() {
        return assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(index).close())
                .satisfies(e -> assertThat(e.getMessage()).doesNotContain("\n")).actual();
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "../1.safetensors", "/1.safetensors", "a\\1.safetensors", "..", ".", "", " ", ".1.safetensors", "C:1",
            "a\\u0000",
            "sub/1.safetensors", "3.safetensors"
    })
    void aPathIsRefused(String path) throws IOException {
        write("{'weight_map':{'a':'" + path.replace("\\1", "\\\\1") + "'}}");
        assertThat(refusal().code()).isEqualTo("SAFETENSORS-INDEX");
    }

    @Test
    void aLinkIsFollowedOnlyBelowADirectoryThatTheCallerNames() throws IOException {
        Path blobs = Files.createDirectory(top.resolve("blobs"));
        Files.move(folder.resolve("2.safetensors"), blobs.resolve("abc"));
        Files.createSymbolicLink(folder.resolve("2.safetensors"), Path.of("../blobs/abc"));
        assertThat(refusal()).hasMessageContainingAll("2.safetensors", "OpenOptions.root");
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> Checkpoint.open(index, OpenOptions.defaults().root(folder)));
        try (Checkpoint c = Checkpoint.open(index, OpenOptions.defaults().root(top))) {
            assertThat(c.tensor("c").getLong(0)).isEqualTo(5);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "{'weight_map':{}}", "{'weight_map':{'c':'1.safetensors'}}", "{'weight_map':{'none':'2.safetensors'}}",
            "{'weight_map':{'a':'1.safetensors','a':'1.safetensors'}}", "{'x':'weight_map','weight_map' : 3}",
            "{'weight_map':{'a':1}}", "{'weight_map':{'a':'1.safetensors'}",
            "{'x':1,'weight_map':{'a':'1.safetensors'}}x"
    })
    void anIndexThatDoesNotFitIsRefused(String json) throws IOException {
        write(json);
        refusal();
    }

    @Test
    void aDamagedShardIsNamed() throws IOException {
        Path shard = folder.resolve("2.safetensors");
        Files.write(shard, Arrays.copyOf(Files.readAllBytes(shard), 40));
        assertThat(refusal()).hasMessageContaining(shard.toRealPath().toString());
    }
}
