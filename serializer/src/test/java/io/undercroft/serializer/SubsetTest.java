package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// Loading some tensors of a file.
class SubsetTest {
    private static final int NUMEL = 1 << 20;

    @TempDir
    private Path folder;
    private Path file;

    @BeforeEach
    void save() throws IOException {
        file = folder.resolve("model.croft");
        Tensor tied = Tensor.arange(DType.FLOAT32, NUMEL);
        Tensor moment = Tensor.arange(DType.FLOAT32, NUMEL);
        Map<String, Object> model = new LinkedHashMap<>();
        model.put("wte.weight", tied);
        model.put("head.weight", tied.view(2, NUMEL / 2));
        model.put("head.bias", Tensor.of(1f, 2f));
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("model", model);
        state.put("optimizer", Map.of("moment", moment));
        state.put("ema", tied.narrow(0, 5, 3));
        state.put("bytes", Storage.copyOf((byte) 1, (byte) 2));
        state.put("step", 7L);
        Checkpoint.save(file, state);
    }

    private Checkpoint open(String... globs) throws IOException {
        return Checkpoint.open(file, OpenOptions.defaults().only(globs));
    }

    @Test
    void onlyChosenTensorsHaveNames() throws IOException {
        try (Checkpoint c = open("model/*.weight")) {
            assertThat(c.names()).containsExactly("model/wte.weight", "model/head.weight");
            assertThat(c.contains("model/wte.weight")).isTrue();
            assertThat(c.contains("model/head.bias")).isFalse();
            assertThat(c.tensor("model/wte.weight").getFloat(NUMEL - 1)).isEqualTo(NUMEL - 1);
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> c.tensor("model/head.bias"))
                    .withMessageContaining("among the 2 that were chosen");
        }
    }

    @Test
    void chosenTensorsShareAsAllDo() throws IOException {
        try (Checkpoint c = open("model/wte.*", "model/head.weight")) {
            assertThat(c.tensor("model/wte.weight").storage()).isSameAs(c.tensor("model/head.weight").storage());
            assertThat(c.storages()).containsExactly(c.tensor("model/wte.weight").storage());
        }
    }

    @Test
    void inTheStateTheOthersAreOnMeta() throws IOException {
        try (Checkpoint c = open("model/wte.weight")) {
            Map<?, ?> state = (Map<?, ?>) c.state();
            Map<?, ?> model = (Map<?, ?>) state.get("model");
            assertThat(model.get("wte.weight") == c.tensor("model/wte.weight")).isTrue();
            assertThat((Tensor) model.get("head.bias")).satisfies(bias -> {
                assertThat(bias.storage().isMeta()).isTrue();
                assertThat(bias.shape().toArray()).containsExactly(2);
            });
            // It uses the storage of a chosen one.
            assertThat(((Tensor) state.get("ema")).storage()).isSameAs(c.tensor("model/wte.weight").storage());
            assertThat(((Storage) state.get("bytes")).isMeta()).isTrue();
            assertThat(state.get("step")).isEqualTo(7L);
        }
    }

    @Test
    void aPredicateChoosesToo() throws IOException {
        OpenOptions options = OpenOptions.defaults().only(name -> name.startsWith("optimizer/")).inMemory();
        try (Checkpoint c = Checkpoint.open(file, options)) {
            assertThat(c.names()).containsExactly("optimizer/moment");
            assertThat(c.storages()).hasSize(1).allMatch(Storage::isMaterialized);
        }
    }

    @Test
    void aPredicateMayChooseNothing() throws IOException {
        try (Checkpoint c = Checkpoint.open(file,
                OpenOptions.defaults().only(_ -> false).checksums(ChecksumPolicy.EAGER).inMemory())) {
            assertThat(c.names()).isEmpty();
            assertThat(c.storages()).isEmpty();
            assertThat(c.state()).isInstanceOf(Map.class);
        }
    }

    @Test
    void aPatternThatNoNameMatchesIsRefusedWithNamesThatAreNear() {
        assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> open("model/**", "optimiser/moment"))
                .withMessage(file + " has no tensor whose name matches 'optimiser/moment'; "
                        + "did you mean 'optimizer/moment'?");
        assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> open("params/**"))
                .withMessage(file + " has no tensor whose name matches 'params/**'; "
                        + "its names are for instance 'model/wte.weight'");
    }

    @Test
    void ofAPatternOnlyTheNamesAreRead() throws IOException {
        // The tree is damaged, and nobody needs it.
        Path path = folder.resolve("damaged.croft");
        Map<String, Object> state = new LinkedHashMap<>(Map.of("a/b", Tensor.of(1f)));
        state.put("text", "in the tree only".repeat(100_000));
        Checkpoint.save(path, state);
        byte[] bytes = Files.readAllBytes(path);
        int at = new String(bytes, ISO_8859_1).lastIndexOf("in the tree only");
        bytes[at] ^= 1;
        Files.write(path, bytes);
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().only("a/**"))) {
            assertThat(c.tensor("a/b").getFloat(0)).isEqualTo(1);
            assertThatExceptionOfType(FormatException.class).isThrownBy(c::state);
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void ofTheOthersNothingIsReadOrMapped() throws IOException {
        OpenOptions options = OpenOptions.defaults().only("model/head.bias").inMemory();
        long before = Proc.bytesReadByThisThread();
        try (Checkpoint c = Checkpoint.open(file, options)) {
            assertThat(c.tensor("model/head.bias").toFloatArray()).containsExactly(1, 2);
            assertThat(Proc.mappings(file.toString())).isZero();
        }
        assertThat(Proc.bytesReadByThisThread() - before).isLessThan(256 << 10);
    }

    @Test
    void aFileWhoseBytesAreMissingGivesThoseThatAreThere() throws IOException {
        CroftImage image = CroftImage.first();
        byte[] own = noise(100, 1);
        image.write(own);
        image.tensor("own", 100).write(noise(100, 2));
        Files.write(file, image.tensor("far", image.storage("cuda:3"), 0, 100).commit());
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().only("own").inMemory())) {
            assertThat(c.tensor("own").toByteArray()).isEqualTo(own);
            assertThat(c.state()).isInstanceOf(Map.class);
        }
    }
}
