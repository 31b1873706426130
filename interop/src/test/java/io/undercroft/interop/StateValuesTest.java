package io.undercroft.interop;

import static io.undercroft.testsupport.TestData.map;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Values of files that are no tensors: numbers, texts, and what leads to them.
class StateValuesTest {
    private static final Path FIXTURES = Path.of("..", "test-support", "fixtures");
    private static final Path TRAINING = FIXTURES.resolve("models/tiny-gpt2-training.pt");

    @TempDir
    Path folder;

    @Test
    void aTrainingCheckpointHasValuesAtPaths() throws IOException {
        try (Checkpoint c = Checkpoint.open(TRAINING)) {
            assertThat(c.value("step")).isEqualTo(3L);
            assertThat(c.value("optimizer/param_groups/0/lr", Double.class)).isEqualTo(1e-3);
            assertThat(c.value("config/vocab_size", int.class)).isEqualTo(512);
            assertThat(c.value("optimizer/state/0/step", Long.class)).isEqualTo(3);
            assertThat(c.value("optimizer/state/0/exp_avg")).isSameAs(c.tensor("optimizer/state/0/exp_avg"));
            assertThat(c.value("config")).isEqualTo(map("n_embd", 64L, "n_layer", 2L, "vocab_size", 512L));
            assertThat(c.value("model", Map.class).size()).isEqualTo(29);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"x.pt", "x.croft", "x.t7"})
    void integerKeysAreFoundWhateverIntegerIsAskedFor(String name) throws IOException {
        Path path = folder.resolve(name);
        Checkpoint.save(path, map("state", Map.of(2L, "two", -1L, "minus")));
        try (Checkpoint c = Checkpoint.open(path)) {
            Map<?, ?> state = (Map<?, ?>) c.stateMap().get("state");
            for (Number two : new Number[]{2L, 2, (short) 2, (byte) 2}) {
                assertThat(state.get(two)).as(two.getClass().getName()).isEqualTo("two");
                assertThat(state.containsKey(two)).isTrue();
            }
            assertThat(state.get(-1)).isEqualTo("minus");
            assertThat(state.get(3)).isNull();
            assertThat(state.get("2")).isNull();
            assertThat(state.get(2.0)).isNull();
            assertThat(c.value("state/2")).isEqualTo("two");
            assertThat(c.value("state/-1")).isEqualTo("minus");
            assertThat(state.remove(2)).isEqualTo("two");
            assertThat(state).hasSize(1);
        }
    }

    @Test
    void keysThatWereSavedAsShorterIntegersAreFoundByLongOnes() throws IOException {
        Path path = folder.resolve("x.croft");
        Checkpoint.save(path, Map.of("state", Map.of(2, "two")));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(((Map<?, ?>) c.stateMap().get("state")).get(2L)).isEqualTo("two");
        }
    }

    @Test
    void otherFormatsHaveValuesToo() throws IOException {
        try (Checkpoint c = Checkpoint.open(FIXTURES.resolve("gguf/all.gguf"))) {
            assertThat(c.value("general.architecture", String.class)).isEqualTo("test");
            assertThat(c.value("uint64", BigInteger.class)).isEqualTo(new BigInteger("18446744073709551615"));
            assertThat(c.value("bool", Boolean.class)).isTrue();
        }
        try (Checkpoint c = Checkpoint.open(FIXTURES.resolve("safetensors/tied.safetensors"))) {
            assertThat(c.value("format")).isEqualTo("pt");
            assertThat(c.value("wte.weight")).isSameAs(c.tensor("wte.weight"));
        }
        Path npz = folder.resolve("x.npz");
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(npz))) {
            out.putNextEntry(new ZipEntry("note.npy"));
            String header = "{'descr': '<U5', 'fortran_order': False, 'shape': ()}\n";
            out.write(new byte[]{(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (byte) header.length(), 0});
            out.write(header.getBytes(UTF_8));
            out.write("grüße".getBytes(Charset.forName("UTF-32LE")));
        }
        try (Checkpoint c = Checkpoint.open(npz)) {
            assertThat(c.value("note", String.class)).isEqualTo("grüße");
        }
    }

    @Test
    void numbersAreConvertedWhereNothingIsLost() throws IOException {
        Path path = folder.resolve("x.croft");
        Checkpoint.save(path, map("i", 300, "d", 2.5, "whole", 4.0, "nan", Double.NaN, "big", BigInteger.TWO.pow(70),
                "none", null, "text", "t", "truth", Tensor.of(true), "u", Tensor.of(-1L).view(DType.UINT64), "c",
                new Complex(1, 2), "typed", new Typed("a.B", 7L), "two", Tensor.of(1f, 2f)));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.value("i", Long.class)).isEqualTo(300);
            assertThat(c.value("i", Double.class)).isEqualTo(300);
            assertThat(c.value("whole", Long.class)).isEqualTo(4);
            assertThat(c.value("d", float.class)).isEqualTo(2.5f);
            assertThat(c.value("big", BigInteger.class)).isEqualTo(BigInteger.TWO.pow(70));
            assertThat(c.value("truth", boolean.class)).isTrue();
            assertThat(c.value("u", BigInteger.class)).isEqualTo(BigInteger.TWO.pow(64).subtract(BigInteger.ONE));
            assertThat(c.value("typed", Long.class)).isEqualTo(7);
            assertThat(c.value("typed", Typed.class).type()).isEqualTo("a.B");
            assertThat(c.value("none")).isNull();
            for (String wrong : List.of("d", "nan", "big", "none", "text", "u", "c", "two")) {
                assertThatExceptionOfType(ClassCastException.class).as(wrong)
                        .isThrownBy(() -> c.value(wrong, Long.class))
                        .withMessageContainingAll("the value at '" + wrong + "' in " + path, "java.lang.Long");
            }
            assertThatExceptionOfType(ClassCastException.class).isThrownBy(() -> c.value("i", Byte.class))
                    .withMessageContaining("'300'");
        }
    }

    @Test
    void aPathThatLeadsNowhereGetsSimilarOnes() throws IOException {
        try (Checkpoint c = Checkpoint.open(TRAINING)) {
            assertMissing(c, "lr", "no tensor or value 'lr'; did you mean 'optimizer/param_groups/0/lr'?");
            assertMissing(c, "stepp", "did you mean 'step'");
            assertMissing(c, "WTE", "; one name contains it: 'model/transformer.wte.weight'");
            assertMissing(c, "c_fc.", "; 4 names contain it: 'model/transformer.h.0.mlp.c_fc.weight', ",
                    "'model/transformer.h.1.mlp.c_fc.bias'");
            assertMissing(c, "exp_a", "; 56 names contain it: 'optimizer/state/0/exp_avg', ", " and 44 more");
            assertMissing(c, "nothing of it", "'nothing of it'");
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> c.tensor("wte"))
                    .withMessageEndingWith("among its 113; one name contains it: 'model/transformer.wte.weight'");
        }
    }

    private static void assertMissing(Checkpoint c, String path, String... message) {
        assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> c.value(path))
                .withMessageContainingAll(message);
    }
}
