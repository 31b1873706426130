package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DiffTest {
    private static final int DIFFERENT = 5;

    @TempDir
    Path folder;
    private Path a;
    private Path b;

    @BeforeEach
    void names() {
        a = folder.resolve("a.croft");
        b = folder.resolve("b.croft");
    }

    private static JsonNode json(Object... files) throws IOException {
        Object[] words = new Object[files.length + 1];
        words[0] = "diff --json --stats";
        System.arraycopy(files, 0, words, 1, files.length);
        return Invocation.of(words).json();
    }

    private void save(Map<String, ?> first, Map<String, ?> second) throws IOException {
        Checkpoint.save(a, first);
        Checkpoint.save(b, second);
    }

    @Test
    void aFileEqualsItself() {
        Invocation same = Invocation.of("diff", TRAINING, TRAINING);

        assertThat(same.code()).isZero();
        assertThat(same.err()).isEmpty();
        assertThat(same.out().lines().toList().getLast())
                .isEqualTo("113 tensors equal, 0 changed, 0 only in A, 0 only in B");
    }

    @ParameterizedTest
    @ValueSource(strings = {"c.croft", "c.safetensors", "c.npz", "c.pt"})
    void aConvertedFileHasEqualTensorsWhateverItsFormat(String name) {
        Path source = torch("views.pt");
        Path converted = folder.resolve(name);
        assertThat(Invocation.of("convert", source, converted).code()).isZero();

        Invocation same = Invocation.of("diff", source, converted);

        assertThat(same.out()).contains(" equal, 0 changed, 0 only in A, 0 only in B");
        assertThat(same.code()).as(same.out()).isEqualTo(same.out().contains("shared in") ? DIFFERENT : 0);
    }

    @Test
    void valuesThatDifferAreListedWithTheirPathsAndBothSides() throws IOException {
        Tensor w = Tensor.of(1f);
        Map<String, Object> first = new LinkedHashMap<>(Map.of("w", w, "step", 3, "nan", Double.NaN, "name", "a"));
        first.put("optimizer", Map.of("groups", List.of(Map.of("lr", 0.1, "betas", List.of(0.9, 0.99)))));
        first.put("gone", Map.of("seed", 7));
        first.put("weights", Map.of("w", w));
        Map<String, Object> second = new LinkedHashMap<>(Map.of("w", w, "step", 4, "nan", Double.NaN, "name", "a"));
        second.put("optimizer", Map.of("groups", List.of(Map.of("lr", 0.1, "betas", List.of(0.9, 0.95)))));
        second.put("weights", Map.of("w", w));
        second.put("none", null);
        save(first, second);

        Invocation shown = Invocation.of("diff", a, b);

        assertThat(shown.code()).isEqualTo(DIFFERENT);
        assertThat(shown.out().lines().map(line -> line.replaceAll(" +", " "))).contains("step 3 4",
                "optimizer/groups/0/betas list of 2: 0.9, 0.99 list of 2: 0.9, 0.95", "gone map of 1: seed 7",
                "none none", "2 tensors equal, 0 changed, 0 only in A, 0 only in B, 4 values differ");
        assertThat(json(a, b).get("values")).extracting(JsonNode::toString).containsExactlyInAnyOrder(
                "{\"path\":\"step\",\"a\":3,\"b\":4}",
                "{\"path\":\"optimizer/groups/0/betas\",\"a\":\"list of 2: 0.9, 0.99\","
                        + "\"b\":\"list of 2: 0.9, 0.95\"}",
                "{\"path\":\"gone\",\"a\":\"map of 1: seed 7\"}", "{\"path\":\"none\",\"b\":null}");
        assertThat(Invocation.of("diff --only weights/w", a, b).code()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"c.croft", "c.pt", "c.safetensors", "c.t7", "c.npz", "c.gguf"})
    void valuesThatAFormatDoesNotKeepAreNoDifference(String name) throws IOException {
        Path converted = folder.resolve(name);
        Checkpoint.save(a, Map.of("w", Tensor.of(1f), "step", 3, "rate", 0.5));
        if (List.of("c.croft", "c.pt", "c.t7").contains(name)) {
            assertThat(Invocation.of("convert", a, converted).code()).isZero();
        } else {
            Checkpoint.save(converted, Map.of("w", Tensor.of(1f)));
        }

        Invocation same = Invocation.of("diff", a, converted);

        assertThat(same.code()).as(same.out()).isZero();
        assertThat(Invocation.of("diff", converted, a).code()).isZero();
    }

    @Test
    void statesWithVeryManyPathsAreComparedInPart() throws IOException {
        List<Object> one = List.of(1L, Map.of());
        List<Object> other = List.of(2L, Map.of());
        for (int i = 0; i < 100; i++) {
            one = List.of(one, one);
            other = List.of(other, other);
        }
        save(Map.of("deep", one), Map.of("deep", other));
        assertThat(Invocation.of("diff", a, b).out()).contains("1 value differs");

        List<Object> many = new ArrayList<>();
        for (int i = 0; i < 4000; i++) {
            many.add(List.of(Map.of(), 1L));
        }
        save(Map.of("many", Collections.nCopies(4000, many)), Map.of("many", many));
        Invocation compared = Invocation.of("diff", a, b);
        assertThat(compared.err()).contains("more than ten million values");
        assertThat(compared.code()).isEqualTo(3);
    }

    @Test
    void namesShapesAndDTypesThatDifferAreListed() throws IOException {
        save(Map.of("gone", Tensor.of(1f, 2f), "shape", Tensor.zeros(DType.FLOAT32, 2, 3), "type", Tensor.of(1, 2)),
                Map.of("new", Tensor.of(1L), "shape", Tensor.zeros(DType.FLOAT32, 3, 2), "type", Tensor.of(1L, 2)));

        Invocation shown = Invocation.of("diff", a, b);

        assertThat(shown.code()).isEqualTo(DIFFERENT);
        assertThat(shown.out()).contains("only in A:", "gone", "only in B:", "new", "float32 [2, 3]",
                "float32 [3, 2]", "int32 [2]", "int64 [2]", "0 tensors equal, 2 changed, 1 only in A, 1 only in B");
        JsonNode json = json(a, b);
        assertThat(json.at("/only_in_a/0/name").asText()).isEqualTo("gone");
        assertThat(json.at("/only_in_b/0/shape/0").asInt()).isEqualTo(1);
        assertThat(json.findValuesAsText("what")).hasSize(2);
    }

    @Test
    void statisticsCountTheElementsThatDifferAndHowMuch() throws IOException {
        Tensor changed = Tensor.arange(DType.FLOAT32, 300_000);
        changed.setDouble(7, 9);
        changed.setDouble(299_999, 299_995);
        save(Map.of("w", Tensor.arange(DType.FLOAT32, 300_000), "same", Tensor.of(1f)),
                Map.of("w", changed, "same", Tensor.of(1f)));

        JsonNode statistics = json(a, b).at("/changed/0/statistics");

        assertThat(statistics.get("elements").asLong()).isEqualTo(300_000);
        assertThat(statistics.get("differing").asLong()).isEqualTo(2);
        assertThat(statistics.get("max_abs").asDouble()).isEqualTo(4);
        assertThat(statistics.get("mean_abs").asDouble()).isEqualTo(6 / 300_000.0);
        assertThat(Invocation.of("diff --stats", a, b).out()).contains("< 0.1 %", "4.000", "2.000e-05");
        assertThat(Invocation.of("diff", a, b).out()).contains("w        values").doesNotContain("%");
    }

    @Test
    void numbersOfDifferentTypesAreComparedByStatistics() throws IOException {
        save(Map.of("w", Tensor.of(1f, 2.5f)), Map.of("w", Tensor.of(1.0, 2.0)));

        JsonNode change = json(a, b).at("/changed/0");

        assertThat(change.at("/what/0").asText()).isEqualTo("dtype");
        assertThat(change.at("/statistics/differing").asInt()).isEqualTo(1);
        assertThat(change.at("/statistics/max_abs").asDouble()).isEqualTo(0.5);
    }

    @Test
    void twoNaNsAreNoDifferenceAndOneIsOneWithoutANumber() throws IOException {
        save(Map.of("w", Tensor.of(Float.NaN, Float.NaN, 1f, Float.POSITIVE_INFINITY)),
                Map.of("w", Tensor.of(Float.NaN, 0f, 1.5f, Float.POSITIVE_INFINITY)));

        JsonNode statistics = json(a, b).at("/changed/0/statistics");

        assertThat(statistics.get("differing").asInt()).isEqualTo(2);
        assertThat(statistics.get("not_finite").asInt()).isEqualTo(1);
        assertThat(statistics.get("max_abs").asDouble()).isEqualTo(0.5);
        assertThat(Invocation.of("diff", a, a).code()).isZero();
    }

    @Test
    void integersOf64BitsAreComparedExactly() throws IOException {
        save(Map.of("s", Tensor.of(Long.MAX_VALUE, Long.MIN_VALUE), "u", Tensor.of(-1L, 5).view(DType.UINT64)),
                Map.of("s", Tensor.of(Long.MAX_VALUE - 1, Long.MAX_VALUE), "u",
                        Tensor.of(-2L, 5).view(DType.UINT64)));

        JsonNode changed = json(a, b).get("changed");

        assertThat(changed).allSatisfy(each -> assertThat(each.at("/statistics/differing").asInt())
                .isEqualTo(each.get("name").asText().equals("s") ? 2 : 1));
        assertThat(changed).anySatisfy(each -> assertThat(each.at("/statistics/max_abs").asDouble()).isEqualTo(0x1p64));
    }

    @Test
    void quantizedElementsAreComparedByTheirStoredIntegers() throws IOException {
        Map<String, Object> first = new LinkedHashMap<>();
        Map<String, Object> second = new LinkedHashMap<>();
        for (DType dtype : List.of(DType.QINT8, DType.QUINT8)) {
            first.put(dtype.name(), Tensor.of(Storage.copyOf((byte) 1, (byte) -6), dtype, 0, Shape.of(2), 1));
            second.put(dtype.name(), Tensor.of(Storage.copyOf((byte) 1, (byte) 4), dtype, 0, Shape.of(2), 1));
        }
        first.put("qint32", Tensor.of(Tensor.of(1, 70_000).storage(), DType.QINT32, 0, Shape.of(2), 1));
        second.put("qint32", Tensor.of(Tensor.of(1, 70_003).storage(), DType.QINT32, 0, Shape.of(2), 1));
        save(first, second);

        JsonNode changed = json(a, b).get("changed");

        assertThat(changed).hasSize(3);
        assertThat(changed.findValues("max_abs")).extracting(JsonNode::asDouble).containsExactly(10.0, 246.0, 3.0);
        assertThat(changed.findValues("differing")).allMatch(each -> each.asInt() == 1);
    }

    @Test
    void opaqueTypesAreComparedByTheirBitsAndHaveNoStatistics() throws IOException {
        DType opaque = DType.opaque("mystery", 24);
        save(Map.of("w", Tensor.of(Storage.allocate(6), opaque, 0, Shape.of(2))),
                Map.of("w", Tensor.of(Storage.allocate(6).fill((byte) 1), opaque, 0,
                        Shape.of(2))));

        JsonNode change = json(a, b).at("/changed/0");

        assertThat(change.at("/what/0").asText()).isEqualTo("values");
        assertThat(change.has("statistics")).isFalse();
        assertThat(Invocation.of("diff --stats", a, a).code()).isZero();
    }

    @Test
    void tiesThatOnlyOneFileHasAreADifference() throws IOException {
        Tensor tied = Tensor.of(1f, 2f);
        Map<String, Tensor> apart = new LinkedHashMap<>(Map.of("x", Tensor.of(1f, 2f), "y", Tensor.of(1f, 2f)));
        save(Map.of("x", tied, "y", tied), apart);

        Invocation shown = Invocation.of("diff", a, b);

        assertThat(shown.code()).isEqualTo(DIFFERENT);
        assertThat(shown.out()).contains("shared in A only:", "2 tensors equal, 0 changed",
                "1 difference of sharing").doesNotContain("shared in B only");
        assertThat(json(a, b).at("/shared_in_a/0/names")).hasSize(2);
    }

    @Test
    void tensorsOnTheMetaDeviceAreEqualToEachOtherAndNotComparedWithOthers() throws IOException {
        save(Map.of("w", Tensor.meta(DType.FLOAT32, 2)), Map.of("w", Tensor.of(1f, 2f)));

        Invocation shown = Invocation.of("diff --stats", a, b);

        assertThat(shown.code()).as(shown.out() + shown.err()).isEqualTo(3);
        assertThat(shown.err()).hasLineCount(1).contains("the tensor 'w' was not compared: on the device meta");
        assertThat(shown.out()).contains("0 tensors equal, 0 changed, 0 only in A, 0 only in B, 1 not compared");
        assertThat(Invocation.of("diff --stats", a, a).code()).isZero();
    }

    @Test
    void stridesDoNotMatter() throws IOException {
        Tensor rows = Tensor.arange(DType.FLOAT32, 6).view(2, 3);
        save(Map.of("w", rows), Map.of("w", rows.t().contiguous().t()));

        assertThat(Invocation.of("diff --stats", a, b).code()).isZero();
    }

    @Test
    void snapshotsOfOneFileAreCompared() throws IOException {
        save(Map.of("w", Tensor.of(1f, 2f)), Map.of("w", Tensor.of(1f, 3f)));
        Invocation.of("append", a, b);

        assertThat(Invocation.of("diff", a, a, "--at", 1, "--at", 2).out()).contains("1 changed", "snapshot 1",
                "snapshot 2");
        assertThat(Invocation.of("diff", a, b, "--at", 1).code()).isEqualTo(DIFFERENT);
        assertThat(Invocation.of("diff", a, b).code()).isZero();
        assertThat(Invocation.of("diff", a, b, "--at", 9).code()).isEqualTo(2);
        assertThat(Invocation.of("diff", a, b, "--at", 1, "--at", 1, "--at", 1).err()).contains("once or twice");
    }

    /// The bytes of the equal tensor are damaged in both files, so that reading them would fail.
    @Test
    void equalDigestsAreNotReadAndDifferentOnesAreEnough() throws IOException {
        save(Map.of("same", Tensor.arange(DType.INT32, 100_000), "w", Tensor.arange(DType.INT32, 50_000)),
                Map.of("same", Tensor.arange(DType.INT32, 100_000), "w", Tensor.zeros(DType.INT32, 50_000).fill(7)));
        for (Path file : List.of(a, b)) {
            try (Checkpoint checkpoint = Checkpoint.open(file)) {
                long offset = checkpoint.extents(checkpoint.tensor("same").storage()).getFirst().offset();
                byte[] bytes = Files.readAllBytes(file);
                bytes[(int) offset + (file == a ? 1 : 2)] ^= 0x55;
                Files.write(file, bytes);
            }
        }

        Invocation shown = Invocation.of("diff --stats", a, b);

        assertThat(shown.err()).isEmpty();
        assertThat(shown.out()).contains("1 tensor equal, 1 changed", "49,999");
    }

    @Test
    void aDamagedTensorThatHasToBeReadIsNamedAndTheOthersAreCompared() throws IOException {
        save(Map.of("w", Tensor.arange(DType.INT32, 100_000), "x", Tensor.of(1f)), Map.of());
        b = folder.resolve("b.safetensors");
        Invocation.of("convert", a, b);
        try (Checkpoint checkpoint = Checkpoint.open(a)) {
            long offset = checkpoint.extents(checkpoint.tensor("w").storage()).getFirst().offset();
            byte[] bytes = Files.readAllBytes(a);
            bytes[(int) offset] ^= 0x55;
            Files.write(a, bytes);
        }

        Invocation shown = Invocation.of("diff", a, b);

        assertThat(shown.code()).as(shown.out() + shown.err()).isEqualTo(4);
        assertThat(shown.err()).hasLineCount(1).contains("the tensor 'w' was not compared", "V14");
        assertThat(shown.out()).contains("1 tensor equal", "1 not compared");
    }

    @Test
    void onlyTensorsThatMatchAreCompared() throws IOException {
        save(Map.of("m", Map.of("x", Tensor.of(1f), "y", Tensor.of(1f))),
                Map.of("m", Map.of("x", Tensor.of(1f), "y", Tensor.of(2f))));

        assertThat(Invocation.of("diff --only m/x", a, b).out()).contains("1 tensor equal, 0 changed");
        assertThat(Invocation.of("diff --only m/x --only **/y", a, b).out()).contains("1 tensor equal, 1 changed");
        assertThat(Invocation.of("diff --only nothing", a, b).code()).isEqualTo(2);
    }

    @Test
    void keysThatNestOtherwiseAreTheSameName() throws IOException {
        save(Map.of("m", Map.of("x", Tensor.of(1f))), Map.of("m/x", Tensor.of(1f)));

        assertThat(Invocation.of("diff", a, b).code()).isZero();
        assertThat(json(a, b).get("equal").asInt()).isEqualTo(1);
    }

    @Test
    void filesThatAreMissingOrUnknownAreNamed() throws IOException {
        save(Map.of("x", Tensor.of(1f)), Map.of());
        Path text = Files.writeString(folder.resolve("notes.txt"), "hello, world");

        assertThat(Invocation.of("diff", a, folder.resolve("none")).code()).isEqualTo(3);
        assertThat(Invocation.of("diff", text, a).err()).hasLineCount(1).contains("notes.txt");
        assertThat(Invocation.of("diff", a).code()).isEqualTo(2);
    }
}
