package io.undercroft.interop.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Every well-meaning file of the fixtures against what PyTorch says that it holds.
class TorchManifestTest {
    private static final JsonNode MANIFEST = Fixtures.json(Fixtures.PYTORCH.resolve("manifest.json"));

    private final Map<Integer, Storage> storages = new HashMap<>();

    /// The names of files, each in the formats in which it is there.
    static List<String> described() {
        return MANIFEST.properties().stream().map(Map.Entry::getKey)
                .filter(name -> !name.startsWith("UNSAFE"))
                .filter(name -> !MANIFEST.get(name).get("object").asText().startsWith("<__main__"))
                .flatMap(name -> Stream.of(name, name + ".legacy"))
                .filter(name -> Fixtures.PYTORCH.resolve(name + ".pt").toFile().exists())
                .toList();
    }

    private static JsonNode object(String name) {
        return MANIFEST.get(name.replace(".legacy", "")).get("object");
    }

    @ParameterizedTest
    @MethodSource("described")
    void aFileHoldsWhatItsManifestSays(String name) throws IOException {
        Fixtures.open(Fixtures.PYTORCH.resolve(name + ".pt"), contents -> {
            check(object(name), contents.state(), name);
            assertThat(contents.verify().damages()).isEmpty();
        });
    }

    static List<String> containerVariants() {
        return Stream.of("align4096", "bigendian", "deflated", "nobyteorder", "nocrc", "torch1.6_style").toList();
    }

    @ParameterizedTest
    @MethodSource("containerVariants")
    void theContainerDoesNotChangeTheContents(String variant) throws IOException {
        Fixtures.open(Fixtures.PYTORCH.resolve("zip_" + variant + ".pt"), contents -> {
            check(MANIFEST.get("views").get("object"), contents.state(), variant);
            assertThat(contents.verify().damages()).isEmpty();
        });
    }

    @Test
    void skippedDataAreZeros() throws IOException {
        Fixtures.open(Fixtures.PYTORCH.resolve("zip_skip_data.pt"), contents -> {
            Tensor base = contents.tensor("base").orElseThrow();
            assertThat(base.shape()).isEqualTo(Shape.of(3, 4));
            assertThat(contents.storages()).containsExactly(base.storage());
            assertThat(base.getFloat(2, 3)).isZero();
        });
    }

    static List<String> protocols() {
        return Stream.of(3, 4, 5)
                .flatMap(protocol -> Stream.of("zip_pickle_protocol" + protocol,
                        "pickle_protocol" + protocol + ".legacy"))
                .toList();
    }

    @ParameterizedTest
    @MethodSource("protocols")
    void newerPickleProtocolsAreRead(String name) throws IOException {
        assertThat(Fixtures.matches(Fixtures.PYTORCH.resolve(name + ".pt"))).isTrue();
        Fixtures.open(Fixtures.PYTORCH.resolve(name + ".pt"), contents -> {
            Map<?, ?> state = (Map<?, ?>) contents.state();
            assertThat(((Tensor) state.get("a")).shape()).isEqualTo(Shape.of(3));
            assertThat((byte[]) state.get("b")).containsExactly('x');
            assertThat(state.get("s")).isEqualTo(Set.of(1L, 2L));
            assertThat(((Typed) state.get("f")).type()).isEqualTo("builtins.frozenset");
            assertThat(((Typed) state.get("f")).value()).isEqualTo(Set.of(1L));
            assertThat((String) state.get("big")).matches("x+");
            assertThat(state.get("n")).isEqualTo(java.math.BigInteger.TWO.pow(70));
        });
    }

    static List<String> oldTensors() {
        return List.of("old_rebuild_tensor_v1", "old_tensor_build", "old_rebuild_tensor_v1.legacy",
                "old_tensor_build.legacy");
    }

    @ParameterizedTest
    @MethodSource("oldTensors")
    void tensorsOfOldVersionsAreRead(String name) throws IOException {
        Fixtures.open(Fixtures.PYTORCH.resolve(name + ".pt"), contents -> {
            Tensor tensor = (Tensor) contents.state();
            assertThat(tensor.storageOffset()).isEqualTo(2);
            assertThat(tensor.shape()).isEqualTo(Shape.of(2, 3));
            assertThat(tensor.stride()).containsExactly(9, 3);
            assertThat(tensor.storage().nbytes()).isEqualTo(120);
        });
    }

    @Test
    void viewsOfStoragesShareTheirBytes() throws IOException {
        Fixtures.open(Fixtures.PYTORCH.resolve("view_metadata.legacy.pt"), contents -> {
            List<?> state = (List<?>) contents.state();
            TypedStorage first = (TypedStorage) state.get(0);
            TypedStorage second = (TypedStorage) state.get(1);
            Tensor tensor = (Tensor) state.get(2);
            Tensor whole = (Tensor) state.get(3);
            assertThat(first.toList()).isEqualTo(List.of(0.0, 1.0));
            assertThat(second.toList()).isEqualTo(List.of(2.0, 3.0, 4.0, 5.0));
            assertThat(tensor.toFloatArray()).containsExactly(3, 4, 5);
            assertThat(whole.toFloatArray()).containsExactly(0, 1, 2, 3, 4, 5);
            assertThat(tensor.storage()).isSameAs(second.untyped());
            assertThat(second.untyped().base()).contains(whole.storage());
            whole.setDouble(4, 17);
            assertThat(tensor.getFloat(1)).isEqualTo(17);
        });
    }

    @Test
    void stringsOfPython2AreRead() throws IOException {
        Fixtures.open(Fixtures.PYTORCH.resolve("python2_shortbinstring.legacy.pt"), contents -> {
            List<?> state = (List<?>) contents.state();
            assertThat(((Tensor) state.get(0)).toFloatArray()).containsExactly(1);
            assertThat(state.get(1)).isEqualTo(2L);
        });
    }

    @Test
    void aTarArchiveIsRead() throws IOException {
        Fixtures.open(Fixtures.PYTORCH.resolve("tar_format.tar.pt"), contents -> {
            Map<?, ?> state = (Map<?, ?>) contents.state();
            assertThat(state.keySet().stream().map(String::valueOf)).containsExactly("base", "T", "on_view", "storage",
                    "view", "n");
            Tensor base = (Tensor) state.get("base");
            assertThat(base.shape()).isEqualTo(Shape.of(3, 4));
            assertThat(base.getFloat(2, 3)).isEqualTo(11);
            assertThat(((Tensor) state.get("T")).getFloat(3, 2)).isEqualTo(11);
            assertThat(((Tensor) state.get("T")).storage()).isSameAs(base.storage());
            TypedStorage view = (TypedStorage) state.get("view");
            assertThat(((TypedStorage) state.get("storage")).untyped()).isSameAs(base.storage());
            assertThat(view.untyped().base()).contains(base.storage());
            assertThat(((Tensor) state.get("on_view")).storage()).isSameAs(view.untyped());
            assertThat(state.get("n")).isEqualTo(5L);
            assertThat(contents.verify().damages()).isEmpty();
            assertThat(contents.verify().unverifiedBytes()).isEqualTo(10240);
        });
    }

    @Test
    void everyFixtureIsCovered() {
        List<String> covered = new ArrayList<>(described());
        containerVariants().forEach(variant -> covered.add("zip_" + variant));
        covered.addAll(protocols());
        covered.addAll(oldTensors());
        covered.addAll(List.of("zip_skip_data", "view_metadata.legacy", "python2_shortbinstring.legacy",
                "tar_format.tar"));
        List<String> files = Fixtures.names("(?!BAD_|UNSAFE_|UNSUPPORTED_).*[.]pt");
        assertThat(covered.stream().map(name -> name + ".pt")).containsExactlyInAnyOrderElementsOf(files);
    }

    @Test
    void aTrainingCheckpointKeepsItsNamesAndSharing() throws IOException {
        JsonNode model = Fixtures.json(Fixtures.MODELS.resolve("tiny-gpt2.json"));
        for (String file : List.of("tiny-gpt2.pt", "tiny-gpt2-legacy.pt")) {
            storages.clear();
            Fixtures.open(Fixtures.MODELS.resolve(file), contents -> {
                assertThat(contents.names()).containsExactlyElementsOf(
                        model.properties().stream().map(Map.Entry::getKey).toList());
                for (String name : contents.names()) {
                    checkTensor(model.get(name), contents.tensor(name).orElseThrow(), name);
                    assertThat(Fixtures.sha256(contents.tensor(name).orElseThrow()))
                            .isEqualTo(model.get(name).get("sha256").asText());
                }
            });
        }
        Fixtures.open(Fixtures.MODELS.resolve("tiny-gpt2-training.pt"), contents -> {
            for (Map.Entry<String, JsonNode> entry : model.properties()) {
                Tensor tensor = contents.tensor("model/" + entry.getKey()).orElseThrow();
                assertThat(tensor.shape().toArray()).as(entry.getKey()).isEqualTo(longs(entry.getValue().get("shape")));
            }
            assertThat(contents.tensor("model/lm_head.weight").orElseThrow().storage())
                    .isSameAs(contents.tensor("model/transformer.wte.weight").orElseThrow().storage());
            assertThat(((Map<?, ?>) contents.state()).keySet().stream().map(String::valueOf))
                    .contains("model", "step", "loss", "config");
            assertThat(contents.verify().damages()).isEmpty();
        });
    }

    private void check(JsonNode expected, Object value, String where) {
        if (!expected.isObject()) {
            assertThat(repr(value)).as(where).isEqualTo(normal(expected.asText()));
            return;
        }
        switch (expected.get("kind").asText()) {
            case "dict" -> checkItems(expected, (Map<?, ?>) value, where);
            case "OrderedDict", "Counter" -> {
                assertThat(((TypedMap) value).type()).isEqualTo("collections." + expected.get("kind").asText());
                checkItems(expected, (Map<?, ?>) value, where);
            }
            case "list" -> checkElements(expected, (List<?>) value, where);
            case "tuple" -> checkElements(expected, (Tuple) value, where);
            case "Tensor" -> checkAnyTensor(expected, value, where);
            case "Parameter" -> checkTyped(expected, value, "torch.nn.parameter.Parameter", where);
            case "Sub" -> checkTyped(expected, value, "__main__.Sub", where);
            case "UntypedStorage" -> checkStorage(expected, (Storage) value, "", where);
            case "TypedStorage" -> {
                TypedStorage typed = (TypedStorage) value;
                assertThat("torch." + typed.dtype()).as(where).isEqualTo(expected.get("dtype").asText());
                checkStorage(expected, typed.untyped(), "", where);
            }
            default -> fail(where + " is of a kind that the test does not know");
        }
    }

    private void checkItems(JsonNode expected, Map<?, ?> map, String where) {
        assertThat(map).as(where).hasSize(expected.get("items").size());
        int index = 0;
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            JsonNode item = expected.get("items").get(index++);
            assertThat(repr(entry.getKey())).as(where).isEqualTo(normal(item.get(0).asText()));
            check(item.get(1), entry.getValue(), where + "/" + entry.getKey());
        }
    }

    private void checkElements(JsonNode expected, List<?> list, String where) {
        assertThat(list).as(where).hasSize(expected.get("items").size());
        for (int i = 0; i < list.size(); i++) {
            check(expected.get("items").get(i), list.get(i), where + "/" + i);
        }
    }

    private void checkAnyTensor(JsonNode expected, Object value, String where) {
        if (expected.get("dtype").asText().matches("torch\\.qu?int.*")) {
            Typed typed = (Typed) value;
            assertThat(typed.type()).as(where).startsWith("torch.per_");
            assertThat(typed.attributes().keySet()).as(where)
                    .containsAnyElementsOf(List.of("zero_point", "zero_points"));
            checkTensor(expected, (Tensor) typed.value(), where);
        } else if (!expected.get("layout").asText().equals("torch.strided")) {
            TypedMap parts = (TypedMap) value;
            assertThat(parts.type()).as(where).isEqualTo(expected.get("layout").asText());
            assertThat(((Shape) parts.get("size")).toArray()).as(where).isEqualTo(longs(expected.get("shape")));
            assertThat("torch." + ((Tensor) parts.get("values")).dtype()).as(where)
                    .isEqualTo(expected.get("dtype").asText());
        } else {
            checkTensor(expected, (Tensor) value, where);
        }
    }

    private void checkTyped(JsonNode expected, Object value, String type, String where) {
        Typed typed = (Typed) value;
        assertThat(typed.type()).as(where).isEqualTo(type);
        checkTensor(expected, (Tensor) typed.value(), where);
    }

    private void checkTensor(JsonNode expected, Tensor tensor, String where) {
        assertThat(tensor.dtype().name()).as(where).isEqualTo(expected.get("dtype").asText().replace("torch.", ""));
        assertThat(tensor.shape().toArray()).as(where).isEqualTo(longs(expected.get("shape")));
        assertThat(tensor.stride()).as(where).isEqualTo(longs(expected.get("stride")));
        assertThat(tensor.storageOffset()).as(where).isEqualTo(expected.get("offset").asLong());
        assertThat(tensor.is(Tensor.Flag.REQUIRES_GRAD)).as(where)
                .isEqualTo(expected.path("requires_grad").asBoolean());
        assertThat(tensor.is(Tensor.Flag.CONJ)).as(where).isEqualTo(expected.path("conj").asBoolean());
        assertThat(tensor.is(Tensor.Flag.NEG)).as(where).isEqualTo(expected.path("neg").asBoolean());
        checkStorage(expected, tensor.storage(), "storage_", where);
    }

    /// The manifests number storages; equal numbers have to be one storage and different ones several.
    private void checkStorage(JsonNode expected, Storage storage, String prefix, String where) {
        assertThat(storage.nbytes()).as(where).isEqualTo(expected.get(prefix + "nbytes").asLong());
        if (expected.has(prefix + "sha256")) {
            assertThat(Fixtures.sha256(storage)).as(where).startsWith(expected.get(prefix + "sha256").asText());
        }
        Storage known = storages.putIfAbsent(expected.get("storage").asInt(), storage);
        assertThat(storage).as(where).isSameAs(known == null ? storage : known);
        assertThat(storages.values().stream().filter(s -> s == storage)).as(where).hasSize(1);
    }

    private static long[] longs(JsonNode array) {
        LongStream.Builder longs = LongStream.builder();
        array.forEach(number -> longs.add(number.asLong()));
        return longs.build().toArray();
    }

    /// A value as Python prints it, except that floats are printed as Java does.
    private static String repr(Object value) {
        return switch (value) {
            case null -> "None";
            case Boolean flag -> flag ? "True" : "False";
            case String text -> "'" + text + "'";
            case Tuple tuple -> repr(tuple, "(", ")");
            case Set<?> set -> repr(set, "{", "}");
            case TypedMap nested when nested.type().equals("torch.nested") -> "nested";
            default -> value.toString();
        };
    }

    private static String repr(Collection<?> values, String open, String close) {
        return values.stream().map(TorchManifestTest::repr).collect(Collectors.joining(", ", open, close));
    }

    private static String normal(String python) {
        if (python.matches("[0-9.]+(e-?\\d+)?") && !python.matches("\\d+")) {
            return Double.toString(Double.parseDouble(python));
        }
        return python.startsWith("? Internal error: NestedTensorImpl") ? "nested" : python;
    }
}
