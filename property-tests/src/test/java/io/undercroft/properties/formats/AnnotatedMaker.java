package io.undercroft.properties.formats;

import io.undercroft.properties.Choices;
import io.undercroft.properties.states.JavaSource;
import io.undercroft.properties.states.Program;
import io.undercroft.properties.states.TensorMaker;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/// Adds to a state what formats keep or not: attributes, parameters, arrays of NumPy, tensors on parts of storages.
final class AnnotatedMaker {
    private static final int MOST = 6;

    private final Choices choices;
    private final Program program;
    private final TensorMaker tensors;

    private AnnotatedMaker(Choices choices, Program program) {
        this.choices = choices;
        this.program = program;
        this.tensors = new TensorMaker(program);
    }

    /// {@return the state with more in it; without choices, the state as it is}
    static Object annotate(Object state, Choices choices, Program program) {
        AnnotatedMaker maker = new AnnotatedMaker(choices, program);
        if (!(state instanceof Map<?, ?> root)) {
            return choices.yes() ? maker.array() : state;
        }
        if (choices.yes()) {
            ActualLosses.forEachTyped(state, (_, node) -> {
                if (choices.below(4) == 0) {
                    maker.extra(node instanceof TypedMap typed ? typed.attributes() : ((Typed) node).attributes());
                }
            });
        }
        for (int i = choices.below(MOST); i > 0; i--) {
            program.put(root, "more " + i, choices.yes() ? maker.inMap("in/it") : maker.value());
        }
        return root;
    }

    private Map<Object, Object> inMap(String key) {
        Map<Object, Object> map;
        if (choices.yes()) {
            TypedMap typed = program.typedMap(choices.yes() ? "collections.OrderedDict" : "gguf");
            program.put(typed.attributes(), "_metadata",
                    program.declare("m", Map.of("version", 1L), "Map.of(\"version\", 1L)"));
            map = typed;
        } else {
            map = program.map();
        }
        program.put(map, key, value());
        return map;
    }

    private Object value() {
        return switch (choices.below(4)) {
            case 0 -> {
                Tensor zeros = zeros(DType.FLOAT32, 2);
                Typed parameter = program.typed("torch.nn.parameter.Parameter",
                        program.view(zeros, zeros.withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD)),
                                "withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD))"));
                if (choices.yes()) {
                    program.put(parameter.attributes(), "tag", 1L);
                }
                yield parameter;
            }
            case 1 -> {
                Storage storage = storage(64L + choices.below(64));
                Map<Object, Object> parts = program.map();
                for (String key : List.of("a", "b")) {
                    program.put(parts, key, tensors.tensor(storage, DType.FLOAT32, choices.below(3), new long[]{5}, 1));
                }
                program.put(parts, "c", tensors.tensor(storage, DType.FLOAT32, 9, new long[]{2}, 1));
                yield parts;
            }
            default -> array();
        };
    }

    private Storage storage(long nbytes) {
        return program.declare("s", Storage.allocate(nbytes), "Storage.allocate(" + nbytes + ")");
    }

    private Tensor zeros(DType dtype, long... sizes) {
        return program.declare("t", Tensor.zeros(dtype, sizes),
                "Tensor.zeros(" + JavaSource.of(dtype) + ", " + JavaSource.numbers(sizes) + ")");
    }

    /// {@return an array as NumPy has it, which other formats refuse}
    private Object array() {
        return switch (choices.below(5)) {
            case 0 -> texts("numpy.str_", DType.UINT32);
            case 1 -> texts("numpy.bytes_", DType.UINT8);
            case 2 -> {
                Typed times = program.typed("numpy.datetime64", zeros(DType.INT64, choices.below(3), 2));
                program.put(times.attributes(), "unit", "ns");
                extra(times.attributes());
                yield times;
            }
            default -> records();
        };
    }

    private Typed texts(String type, DType characters) {
        long rows = 1L + choices.below(2);
        if (choices.below(3) == 0) {
            return program.typed(type, zeros(characters, 5000, 3));
        }
        List<String> elements = IntStream.range(0, (int) (2 * rows)).mapToObj(i -> "t" + i).toList();
        Typed texts = program.typed(type, fixed(elements));
        program.put(texts.attributes(), "length", 4L);
        program.put(texts.attributes(), "shape", Shape.of(2, rows));
        if (choices.yes()) {
            program.put(texts.attributes(), "fortran_order", true);
        }
        extra(texts.attributes());
        return texts;
    }

    private List<String> fixed(List<String> elements) {
        return program.declare("l", elements, "List.of(" + program.useAll(elements) + ")");
    }

    /// Fields on the bytes of all records, as they are read, or each for itself.
    private TypedMap records() {
        long count = 1L + choices.below(3);
        boolean isOne = choices.yes();
        TypedMap records = program.typedMap("numpy.record");
        if (isOne) {
            Storage bytes = storage(count * 16);
            program.put(records, "a", tensors.tensor(bytes, DType.INT32, 0, new long[]{count}, 4));
            program.put(records, "b", tensors.tensor(bytes, DType.FLOAT64, 1, new long[]{count}, 2));
        } else {
            program.put(records, "a", zeros(DType.INT32, count));
            program.put(records, "b", zeros(DType.FLOAT64, count));
        }
        program.put(records.attributes(), "dtype", choices.yes()
                ? "[('a', '<i4'), ('b', '<f8')]"
                : "[('a', '<i4'), ('', '|V4'), ('b', '<f8')]");
        program.put(records.attributes(), "shape", Shape.of(count));
        extra(records.attributes());
        return records;
    }

    private void extra(Map<String, Object> attributes) {
        if (choices.below(3) == 0) {
            program.put(attributes, "note", fixed(List.of("kept by nobody")));
        }
    }
}
