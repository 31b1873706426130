package io.undercroft.properties.formats;

import io.undercroft.properties.Choices;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/// Adds to a state what formats keep or not: attributes, parameters, arrays of NumPy, tensors on parts of storages.
final class AnnotatedMaker {
    private static final int MOST = 6;

    private final Choices choices;

    private AnnotatedMaker(Choices choices) {
        this.choices = choices;
    }

    /// {@return the state with more in it; equal choices add equal values}
    static Object annotate(Object state, byte... bytes) {
        AnnotatedMaker maker = new AnnotatedMaker(new Choices(bytes));
        if (!(state instanceof Map<?, ?> map)) {
            return maker.choices.yes() ? state : maker.array();
        }
        if (maker.choices.yes()) {
            ActualLosses.forEachTyped(state, (_, node) -> {
                if (maker.choices.below(4) == 0) {
                    maker.extra(node instanceof TypedMap typed ? typed.attributes() : ((Typed) node).attributes());
                }
            });
        }
        @SuppressWarnings("unchecked")
        Map<Object, Object> root = (Map<Object, Object>) map;
        for (int i = maker.choices.below(MOST); i > 0; i--) {
            root.putIfAbsent("more " + i, maker.choices.yes() ? maker.inMap("in/it") : maker.value());
        }
        return root;
    }

    private Map<Object, Object> inMap(String key) {
        Map<Object, Object> map = new LinkedHashMap<>();
        if (choices.yes()) {
            TypedMap typed = new TypedMap(choices.yes() ? "collections.OrderedDict" : "gguf");
            typed.attributes().put("_metadata", Map.of("version", 1L));
            map = typed;
        }
        map.put(key, value());
        return map;
    }

    private Object value() {
        Storage storage = Storage.allocate(64 + choices.below(64));
        return switch (choices.below(4)) {
            case 0 -> {
                Typed parameter = new Typed("torch.nn.parameter.Parameter",
                        Tensor.zeros(DType.FLOAT32, 2).withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD)));
                if (choices.yes()) {
                    parameter.attributes().put("tag", 1L);
                }
                yield parameter;
            }
            case 1 -> Map.of("a", Tensor.of(storage, DType.FLOAT32, choices.below(3), Shape.of(5), 1), "b",
                    Tensor.of(storage, DType.FLOAT32, choices.below(3), Shape.of(5), 1), "c",
                    Tensor.of(storage, DType.FLOAT32, 9, Shape.of(2), 1));
            default -> array();
        };
    }

    /// {@return an array as NumPy has it, which other formats refuse}
    private Object array() {
        return switch (choices.below(5)) {
            case 0 -> texts("numpy.str_", DType.UINT32);
            case 1 -> texts("numpy.bytes_", DType.UINT8);
            case 2 -> {
                Typed times = new Typed("numpy.datetime64", Tensor.zeros(DType.INT64, choices.below(3), 2));
                times.attributes().put("unit", "ns");
                extra(times.attributes());
                yield times;
            }
            default -> records();
        };
    }

    private Typed texts(String type, DType characters) {
        long rows = 1L + choices.below(2);
        if (choices.below(3) == 0) {
            return new Typed(type, Tensor.zeros(characters, 5000, 3));
        }
        Typed texts = new Typed(type, IntStream.range(0, (int) (2 * rows)).mapToObj(i -> "t" + i).toList());
        texts.attributes().put("length", 4L);
        texts.attributes().put("shape", Shape.of(2, rows));
        if (choices.yes()) {
            texts.attributes().put("fortran_order", true);
        }
        extra(texts.attributes());
        return texts;
    }

    /// Fields on the bytes of all records, as they are read, or each for itself.
    private TypedMap records() {
        long count = 1L + choices.below(3);
        Storage bytes = Storage.allocate(count * 16);
        boolean isOne = choices.yes();
        TypedMap records = new TypedMap("numpy.record");
        records.put("a",
                isOne ? Tensor.of(bytes, DType.INT32, 0, Shape.of(count), 4) : Tensor.zeros(DType.INT32, count));
        records.put("b", isOne
                ? Tensor.of(bytes, DType.FLOAT64, 1, Shape.of(count), 2)
                : Tensor.zeros(DType.FLOAT64, count));
        boolean isPacked = choices.yes();
        records.attributes().put("dtype", isPacked
                ? "[('a', '<i4'), ('b', '<f8')]"
                : "{'names': ['a', 'b'], 'formats': ['<i4', '<f8'], 'offsets': [0, 8], 'itemsize': 16}");
        if (!isPacked) {
            records.attributes().put("dtype", "[('a', '<i4'), ('', '|V4'), ('b', '<f8')]");
        }
        records.attributes().put("shape", Shape.of(count));
        extra(records.attributes());
        return records;
    }

    private void extra(Map<String, Object> attributes) {
        if (choices.below(3) == 0) {
            attributes.put("note", List.of("kept by nobody"));
        }
    }
}
