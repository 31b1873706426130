package io.undercroft.interop;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// States with tensors that could not be read from their file: what is saved of them, and what is said of the rest.
class UnreadableTensorsTest {
    private static final SaveOptions LEAVING_OUT = SaveOptions.defaults().leavingOutUnreadable();

    @TempDir
    private Path folder;

    /// A safetensors file with two tensors that are read, and two of dtypes that nobody knows.
    private Path file() throws IOException {
        String header = """
                {"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},\
                "bad":{"dtype":"F33","shape":[1],"data_offsets":[4,8]},\
                "worse":{"dtype":"F34","shape":[1],"data_offsets":[8,12]},\
                "z":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}""";
        ByteBuffer bytes = ByteBuffer.allocate(8 + header.length() + 16).order(ByteOrder.LITTLE_ENDIAN)
                .putLong(header.length()).put(header.getBytes(ISO_8859_1)).putFloat(1).putInt(0).putInt(0).putFloat(2);
        return Files.write(folder.resolve("in.safetensors"), bytes.array());
    }

    @Test
    void theyAreContainedAndReadingOneThrows() throws IOException {
        try (Checkpoint c = Checkpoint.open(file())) {
            assertThat(c.contains("bad")).isTrue();
            assertThat(c.contains("nowhere")).isFalse();
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("bad"));
        }
    }

    @Test
    void aStateWithThemIsRefusedWithTheOption() throws IOException {
        Path target = folder.resolve("out.croft");
        try (Checkpoint c = Checkpoint.open(file()); CroftFile growing = CroftFile.open(target)) {
            for (String name : List.of("out.croft", "out.npz", "out.pt")) {
                Path out = folder.resolve(name);
                assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.save(out, c.tree()))
                        .withMessageContainingAll("'bad' cannot be saved", "F33", "SaveOptions.leavingOutUnreadable");
                assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.saveAsync(out, c.tree()));
                assertThat(out).doesNotExist();
            }
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> growing.commit(c.tree(), "first"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"out.croft", "out.pt", "out.npz", "out.safetensors", "out.gguf", "out.t7"})
    void theOthersAreSavedAndTheReportSaysWhy(String name) throws IOException {
        Path out = folder.resolve(name);
        Path later = folder.resolve("later-" + name);
        try (Checkpoint c = Checkpoint.open(file())) {
            SaveReport report = Checkpoint.save(out, c.tree(), LEAVING_OUT);
            assertThat(report.tensors()).isEqualTo(2);
            SaveReport.Loss loss = report.loss(Kind.UNREADABLE).orElseThrow();
            assertThat(loss.count()).isEqualTo(2);
            assertThat(loss.names()).containsExactly("bad", "worse");
            assertThat(loss.reasons()).hasSize(2);
            assertThat(loss.reasons().getLast()).contains("F34", "[SAFETENSORS-DTYPE]");
            assertThat(Checkpoint.saveAsync(later, c.tree(), LEAVING_OUT).join().losses()).contains(loss);
        }
        for (Path file : List.of(out, later)) {
            try (Checkpoint again = Checkpoint.open(file)) {
                assertThat(again.names()).containsExactly("a", "z");
                assertThat(again.tensor("z").getFloat(0)).isEqualTo(2);
                assertThat(again.verify().damages()).isEmpty();
            }
        }
    }

    @Test
    void aCommitLeavesThemOutToo() throws IOException {
        try (Checkpoint c = Checkpoint.open(file());
                CroftFile growing = CroftFile.open(folder.resolve("run.croft"))) {
            growing.commit(c.tree(), LEAVING_OUT);
            assertThat(growing.newest().orElseThrow().names()).containsExactly("a", "z");
        }
    }

    @Test
    void whatIsLeftOutHasNoEntryAndKeepsItsPlaceInAList() throws IOException {
        Tensor bad = Unreadable.tensor(new FormatException("X-BAD", "it is bad", 0, "Mend it"));
        Tensor good = Tensor.of(1f);
        Typed quantized = new Typed("torch.per_channel_affine", good);
        quantized.attributes().put("scales", bad);
        TypedMap sparse = new TypedMap("torch.sparse_coo");
        sparse.putAll(Map.of("indices", bad, "values", good, "size", Shape.of(1)));
        TypedMap ordered = new TypedMap("collections.OrderedDict");
        ordered.put("bad", bad);
        ordered.put("good", good);
        ordered.attributes().put("note", bad);
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("list", new ArrayList<>(Arrays.asList(bad, good, null)));
        state.put("tuple", Tuple.of(new Typed("torch.nn.parameter.Parameter", bad), good));
        state.put("quantized", quantized);
        state.put("sparse", sparse);
        state.put("ordered", ordered);
        state.put("nothing", null);
        state.put("again", state);
        Path out = folder.resolve("out.croft");

        SaveReport report = Checkpoint.save(out, state, LEAVING_OUT);

        assertThat(report.loss(Kind.UNREADABLE).orElseThrow().names()).containsExactly("list/0", "tuple/0",
                "quantized/scales", "sparse/indices", "ordered/bad", "ordered/note");
        try (Checkpoint c = Checkpoint.open(out)) {
            Map<String, Object> saved = c.stateMap();
            assertThat(saved).containsOnlyKeys("list", "tuple", "ordered", "nothing", "again");
            assertThat((List<?>) saved.get("list")).hasSize(3).element(0).isNull();
            assertThat((List<?>) saved.get("tuple")).hasSize(2).element(0).isNull();
            assertThat((Map<?, ?>) saved.get("ordered")).hasSize(1);
            assertThat(((TypedMap) saved.get("ordered")).attributes()).isEmpty();
            assertThat(saved.get("again")).isSameAs(saved);
            assertThat(c.names()).containsExactly("list/1", "tuple/1", "ordered/good");
        }
    }

    @Test
    void aStateThatIsNothingElseIsRefused() {
        Tensor bad = Unreadable.tensor(new FormatException("X-BAD", "it is bad", 0, "Mend it"));
        Path out = folder.resolve("out.croft");
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.save(out, bad, LEAVING_OUT))
                .withMessageContaining("nothing else");
        assertThat(out).doesNotExist();
        assertThat(Tensor.zeros(DType.UINT8, 1)).matches(good -> Unreadable.why(good).isEmpty());
    }
}
