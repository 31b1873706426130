package io.undercroft.properties.formats;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.properties.Choices;
import io.undercroft.properties.states.JavaSource;
import io.undercroft.properties.states.PlainTensors;
import io.undercroft.properties.states.Program;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/// Makes states as Torch7 has them: tables, numbers and bytes, objects of classes, functions, and tensors on storages;
/// each of them perhaps again in another place or in itself.
final class LuaMaker {
    private static final List<DType> DTYPES = List.of(DType.UINT8, DType.INT8, DType.INT16, DType.INT32, DType.INT64,
            DType.FLOAT32, DType.FLOAT64, DType.FLOAT16);
    private static final int MAX_DEPTH = 40;
    private static final int GENERATOR_BYTES = 5048;
    private static final List<String> STRINGS = List.of("", "weight", "a/b", "~", "1", "é", "\u0000", "\uD83D\uDE00",
            "line\nbreak", "V 1", "torch.FloatTensor", "x".repeat(300));
    private static final List<Number> NUMBERS = List.of(0.0, -0.0, 1.5, Double.NaN, Double.NEGATIVE_INFINITY,
            Double.MIN_VALUE, -Double.MAX_VALUE, 0.1, 3L, -7, 1L << 60, 1e17, 2.5f, 1.0 / 3);
    private static final List<Object> KEYS = List.of("name", 1L, 2L, 3, -4L, 1.5, 1e300, true, false, 1L << 53,
            new byte[]{-1}, "é".getBytes(UTF_8));

    private final Choices choices;
    private final Program program;
    private final PlainTensors tensors;
    private final List<Object> containers = new ArrayList<>();

    private LuaMaker(Choices choices, Program program, PlainTensors tensors) {
        this.choices = choices;
        this.program = program;
        this.tensors = tensors;
    }

    /// {@return a state}
    static Object make(Choices choices, Program program) {
        return new LuaMaker(choices, program, PlainTensors.of(choices, program, DTYPES)).root();
    }

    /// {@return a state whose tensors can be written as text}
    static Object makeText(Choices choices, Program program) {
        return new LuaMaker(choices, program, PlainTensors.ofNumbers(choices, program, DTYPES)).root();
    }

    private Object root() {
        Map<Object, Object> root = remember(program.map());
        while (choices.next()) {
            program.put(root, key(), value(0));
        }
        return root;
    }

    private Object value(int depth) {
        return switch (choices.below(10)) {
            case 0, 1, 2 -> leaf();
            case 3, 4, 5 -> tensor();
            case 6 -> choices.of(containers);
            default -> depth < MAX_DEPTH ? container(depth + 1) : leaf();
        };
    }

    /// Torch7 has no tensors without dimensions, and one shape only for those without elements.
    private Tensor tensor() {
        Tensor tensor = tensors.tensor();
        if (tensor.numel() == 0) {
            return program.view(tensor, tensor.flatten(), "flatten()");
        }
        return tensor.dim() == 0 ? program.view(tensor, tensor.unsqueeze(0), "unsqueeze(0)") : tensor;
    }

    private Object leaf() {
        return switch (choices.below(8)) {
            case 0 -> choices.yes();
            case 1, 2 -> choices.of(NUMBERS);
            case 3, 4 -> choices.of(STRINGS);
            case 5 -> choices.bytes(choices.below(20));
            case 6 -> {
                Tensor tensor = tensors.tensor();
                yield program.declare("u", new TypedStorage(tensor.storage(), tensor.dtype()), "new TypedStorage("
                        + program.use(tensor) + ".storage(), " + program.use(tensor) + ".dtype())");
            }
            default -> choices.bits();
        };
    }

    private Object container(int depth) {
        return switch (choices.below(10)) {
            case 0, 1, 2 -> map(depth, remember(program.map()));
            case 3, 4 -> list(depth, remember(program.list()));
            case 5 -> object(depth);
            case 6 -> typed();
            case 7 -> function(depth);
            case 8 -> choices.below(8) == 7
                    ? remember(program.typed("torch7:torch.Generator", new byte[GENERATOR_BYTES]))
                    : map(depth, remember(program.map()));
            default -> pairs(depth);
        };
    }

    private <T> T remember(T container) {
        containers.add(container);
        return container;
    }

    private int count() {
        return choices.areUsedUp() ? 0 : choices.below(7);
    }

    /// Of equal bytes there is one array, since maps of Java tell arrays apart.
    private Object key() {
        Object key = choices.yes() ? choices.of(KEYS) : "k" + choices.below(100);
        return key instanceof byte[] && program.use(key).startsWith("new")
                ? program.declare("b", key, JavaSource.of(key))
                : key;
    }

    private Map<Object, Object> map(int depth, Map<Object, Object> map) {
        for (int left = count(); left > 0; left--) {
            program.put(map, key(), value(depth));
        }
        return map;
    }

    private List<Object> list(int depth, List<Object> list) {
        for (int left = count(); left > 0; left--) {
            program.add(list, value(depth));
        }
        return list;
    }

    private TypedMap object(int depth) {
        TypedMap object = remember(program.typedMap("torch7:nn.Linear"));
        if (choices.below(4) == 0) {
            program.put(object.attributes(), "version", (long) choices.below(4));
        }
        map(depth, object);
        return object;
    }

    /// An object that holds something else than a table.
    private Typed typed() {
        return remember(program.typed("torch7:my.Class", choices.yes() ? tensor() : leaf()));
    }

    private Typed function(int depth) {
        Typed function = remember(program.typed("torch7:function", choices.bytes(choices.below(9))));
        program.put(function.attributes(), "tag", choices.yes() ? 7L : 8L);
        program.put(function.attributes(), "upvalues", map(depth, program.map()));
        return function;
    }

    /// A table that has a table for a key.
    private Typed pairs(int depth) {
        List<Object> pairs = program.list();
        Typed table = remember(program.typed("torch7:table", pairs));
        Map<Object, Object> key = program.map();
        program.put(key, "key", 1.0);
        program.add(pairs, program.tuple(Arrays.asList(key, leaf())));
        for (int left = count(); left > 0; left--) {
            program.add(pairs, program.tuple(Arrays.asList("p" + left, value(depth))));
        }
        return table;
    }
}
