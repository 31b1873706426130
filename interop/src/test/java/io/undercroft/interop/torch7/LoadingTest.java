package io.undercroft.interop.torch7;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Files of Torch7, opened as checkpoints.
class LoadingTest {
    @TempDir
    private Path folder;
    private Path model;

    @BeforeEach
    void write() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        Tensor weight = Tensor.arange(DType.FLOAT64, 1000).view(10, 100);
        state.put("weight", weight);
        state.put("tied", weight.t());
        state.put("bias", Tensor.arange(DType.FLOAT32, 10));
        state.put("empty", Tensor.zeros(DType.FLOAT32, 0));
        model = folder.resolve("model.t7");
        Checkpoint.export(model, state);
    }

    @Test
    void nothingIsCopiedWhenItIsAdopted() throws IOException {
        Path croft = folder.resolve("model.croft");
        DedupReport report;
        try (Checkpoint source = Checkpoint.open(model)) {
            report = Checkpoint.save(croft, source.state(), SaveOptions.defaults().base(model));
        }
        assertThat(report.written()).isZero();
        try (Checkpoint source = Checkpoint.open(model);
                Checkpoint adopted = Checkpoint.open(croft, OpenOptions.defaults().root(folder))) {
            for (String name : source.names()) {
                assertThat(adopted.tensor(name).contentEquals(source.tensor(name))).as(name).isTrue();
            }
            assertThat(adopted.tensor("tied").storage()).isSameAs(adopted.tensor("weight").storage());
        }
    }

    @Test
    void someTensorsAreLoadedAndTheOthersAreOnMeta() throws IOException {
        try (Checkpoint c = Checkpoint.open(model, OpenOptions.defaults().only("weight"))) {
            assertThat(c.names()).containsExactly("weight");
            assertThat(c.storages()).containsExactly(c.tensor("weight").storage());
            Map<?, ?> state = (Map<?, ?>) c.state();
            assertThat(((Tensor) state.get("tied")).storage()).isSameAs(c.tensor("weight").storage());
            assertThat(((Tensor) state.get("bias")).storage().isMeta()).isTrue();
            assertThat(((Tensor) state.get("empty")).storage().isMeta()).isTrue();
            assertThat(c.tensor("weight").getDouble(9, 99)).isEqualTo(999);
        }
    }

    @Test
    void whatIsWrittenToADecodedStorageStaysInMemory() throws IOException {
        Path path = Files7.FIXTURES.resolve("tensor-double-2x3.be.t7");
        try (Checkpoint c = Checkpoint.open(path)) {
            c.tensor("").setDouble(42, 0, 0);
            assertThat(c.tensor("").getDouble(0, 0)).isEqualTo(42);
        }
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.tensor("").getDouble(0, 0)).isEqualTo(1);
        }
    }

    @Test
    void loneValuesAreReadWhenTheFormatIsNamed() throws IOException {
        Path path = Files7.FIXTURES.resolve("true.bin.t7");
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(path))
                .extracting(FormatException::code).isEqualTo("FORMAT-UNKNOWN");
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().format("torch7"))) {
            assertThat(c.state()).isEqualTo(true);
        }
    }

    @Test
    void aDamagedModelIsStillTakenForOneOfTorch7() throws IOException {
        byte[] bytes = Files.readAllBytes(model);
        Path cut = Files.write(folder.resolve("cut.t7"), Arrays.copyOf(bytes, bytes.length - 100));
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(cut))
                .extracting(FormatException::code).asString().startsWith("TORCH7-");
    }

    @Test
    void whatStandsBehindTheFirstObjectIsIgnored() throws IOException {
        byte[] bytes = Files.readAllBytes(model);
        byte[] longer = Arrays.copyOf(bytes, bytes.length + 7);
        try (Checkpoint c = Checkpoint.open(Files.write(folder.resolve("longer.t7"), longer))) {
            assertThat(c.names()).contains("weight");
        }
    }

    @Test
    void otherFilesAreNotTakenForOurs() throws IOException {
        List<Path> others = new ArrayList<>();
        for (Path dir : List.of(Path.of("..", "fixtures", "pytorch"), Path.of("..", "fixtures", "models"),
                Path.of("..", "docs", "decisions"))) {
            try (var files = Files.list(dir)) {
                others.addAll(files.filter(Files::isRegularFile).toList());
            }
        }
        Random random = new Random(7);
        byte[] noise = new byte[4096];
        for (int i = 0; i < 100; i++) {
            random.nextBytes(noise);
            others.add(Files.write(folder.resolve("noise" + i), noise));
        }
        others.add(Files.write(folder.resolve("zeros"), new byte[4096]));
        others.add(Files.writeString(folder.resolve("numbers.csv"), "3\n1\n0\n2\n5\n1\n"));
        others.add(Files.writeString(folder.resolve("list.txt"), "1 2 3 4 5 6 7 8 9\n"));
        others.add(Files.writeString(folder.resolve("text"), "hello, world\n"));
        assertThat(others).hasSizeGreaterThan(200);
        for (Path other : others) {
            assertThat(Files7.matches(other)).as(other.toString()).isFalse();
        }
    }
}
