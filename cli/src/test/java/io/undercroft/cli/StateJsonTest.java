package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Every notation of `docs/inspect-json.md`, as it comes back from a saved file.
class StateJsonTest {
    @TempDir
    Path folder;

    @Test
    void plainValuesAreWrittenAsJsonWritesThem() throws IOException {
        assertState(map("text", "é\n", "integer", Long.MAX_VALUE, "real", 0.25, "truth", true, "nothing", null, "list",
                List.of(1L, List.of(2L))),
                """
                        {"text": "é\\n", "integer": 9223372036854775807, "real": 0.25, "truth": true, "nothing": null,
                         "list": [1, [2]]}""");
    }

    @Test
    void whatJsonCannotWriteIsTagged() throws IOException {
        assertState(map("bytes", new byte[]{1, 2, 3}, "nan", Double.NaN, "up", Double.POSITIVE_INFINITY, "down",
                Double.NEGATIVE_INFINITY, "complex", new Complex(1, -0.5), "dtype", DType.BFLOAT16, "device",
                Device.cuda(1),
                "shape", Shape.of(2, 3), "symbol", new Symbol("torch.strided"), "tuple", Tuple.of(1L, "b"), "set",
                new LinkedHashSet<>(List.of(1L))),
                """
                        {"bytes": {"$bytes": "AQID"}, "nan": {"$float": "nan"}, "up": {"$float": "inf"},
                         "down": {"$float": "-inf"},
                         "complex": {"$complex": [1.0, -0.5]}, "dtype": {"$dtype": "bfloat16"},
                         "device": {"$device": "cuda:1"},
                         "shape": {"$shape": [2, 3]}, "symbol": {"$symbol": "torch.strided"},
                         "tuple": {"$tuple": [1, "b"]},
                         "set": {"$set": [1]}}""");
    }

    @Test
    void keysThatAreNotStringsAreKeptApart() throws IOException {
        assertState(
                map("ints", map(7L, "seven", -1L, "minus"), "mixed",
                        map("a", 1L, 2L, "two", Tuple.of(1L, Tuple.of()), true),
                        "none", Map.of()),
                """
                        {"ints": {"$keys": "int", "7": "seven", "-1": "minus"},
                         "mixed": {"$map": [["a", 1], [2, "two"], [{"$tuple": [1, {"$tuple": []}]}, true]]},
                         "none": {}}""");
    }

    @Test
    void aKeyThatBeginsWithADollarIsDoubled() throws IOException {
        assertState(map("$tensor", 1L, "$$x", 2L, "a$", 3L), "{\"$$tensor\": 1, \"$$$x\": 2, \"a$\": 3}");
    }

    @Test
    void typesAndAttributesTravelAlong() throws IOException {
        TypedMap map = new TypedMap("collections.OrderedDict");
        map.put("k", 1L);
        map.attributes().put("_metadata", List.of());
        Typed typed = new Typed("torch.nn.parameter.Parameter", "value");
        typed.attributes().put("hint", 2L);

        assertState(map("map", map, "typed", typed, "bare", new Typed("a.B", null)),
                """
                        {"map": {"$type": "collections.OrderedDict", "k": 1, "$attributes": {"_metadata": []}},
                         "typed": {"$type": "torch.nn.parameter.Parameter", "$value": "value",
                          "$attributes": {"hint": 2}},
                         "bare": {"$type": "a.B", "$value": null}}""");
    }

    @Test
    void tensorsAndStoragesAreNamed() throws IOException {
        Tensor tensor = Tensor.of(1f, 2f);
        Storage other = Storage.copyOf((byte) 1, (byte) 2);

        assertState(
                map("a/b", List.of(tensor, tensor), "raw", other, "typed",
                        new TypedStorage(tensor.storage(), DType.FLOAT32)),
                """
                        {"a/b": [{"$tensor": "a~1b/0"}, {"$tensor": "a~1b/0"}], "raw": {"$storage": 1},
                         "typed": {"$storage": 0, "dtype": "float32"}}""");
    }

    @Test
    void aContainerSeenBeforeIsReferredTo() throws IOException {
        List<Object> shared = new ArrayList<>(List.of(1L));
        List<Object> cycle = new ArrayList<>();
        cycle.add(cycle);

        assertState(map("first", map("x", shared), "second", shared, "cycle", cycle),
                "{\"first\": {\"x\": [1]}, \"second\": {\"$ref\": \"first/x\"}, \"cycle\": [{\"$ref\": \"cycle\"}]}");
    }

    @Test
    void aStateThatIsOneTensorHasTheEmptyName() throws IOException {
        assertState(Tensor.of(1f), "{\"$tensor\": \"\"}");
    }

    @Test
    void theDeepestStateAndTheDeepestKeyAreWritten() throws IOException {
        Object key = 1L;
        Object value = 1L;
        for (int i = 0; i < 120; i++) {
            key = Tuple.of(key);
            value = new Typed("t", value);
        }
        Path file = folder.resolve("deep.croft");
        Checkpoint.save(file, map(key, value));

        Invocation shown = Invocation.of("inspect", "--json", file);

        assertThat(shown.err()).isEmpty();
        assertThat(shown.code()).isZero();
    }

    private void assertState(Object state, String expected) throws IOException {
        Path file = folder.resolve("state.croft");
        Checkpoint.save(file, state);
        Invocation shown = Invocation.of("inspect", "--json", file);
        assertThat(shown.err()).isEmpty();
        assertThat(shown.json().get("state")).isEqualTo(new ObjectMapper().readTree(expected));
        // Equality of JSON objects does not see the order of their fields.
        String fields = fields(expected);
        assertThat(fields(shown.json().get("state").toString())).isEqualTo(fields);
    }

    private static String fields(String json) throws IOException {
        return new ObjectMapper().readTree(json).toString();
    }

    private static Map<Object, Object> map(Object... keysAndValues) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            map.put(keysAndValues[i], keysAndValues[i + 1]);
        }
        assertThat(map).as(Arrays.toString(keysAndValues)).hasSize(keysAndValues.length / 2);
        return map;
    }
}
