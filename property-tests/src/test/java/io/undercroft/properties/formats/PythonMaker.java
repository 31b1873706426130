package io.undercroft.properties.formats;

import io.undercroft.properties.Choices;
import io.undercroft.properties.states.JavaSource;
import io.undercroft.properties.states.Program;
import io.undercroft.properties.states.StorageSketch;
import io.undercroft.properties.states.TensorMaker;
import io.undercroft.properties.states.TensorSketch;
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
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// Makes states as PyTorch has them: Python's containers and numbers, around tensors of every type that share storages
/// in every way.
final class PythonMaker {
    private static final int MAX_DEPTH = 40;
    private static final List<String> STRINGS = List.of("", "weight", "layer.0.weight", "a/b", "~", "0", "é", "\u0000",
            "\uD83D\uDE00", "\uD800", "line\nbreak", "\u65E5\u672C", "x".repeat(300));
    private static final List<Double> DOUBLES = List.of(0.0, -0.0, 1.5, Double.NaN, Double.POSITIVE_INFINITY,
            Double.MIN_VALUE, -Double.MAX_VALUE, 1e300);
    private static final List<Long> LONGS = List.of(0L, 1L, -1L, 127L, 128L, 255L, 256L, 65_535L, 65_536L, 1L << 31,
            -(1L << 31), Long.MAX_VALUE, Long.MIN_VALUE);
    private static final List<String> SYMBOLS = List.of("torch.strided", "torch.sparse_coo", "torch.channels_last",
            "torch.per_tensor_affine", "builtins.list");

    private final Choices choices;
    private final Program program;
    private final List<DType> dtypes;
    private final Set<Tensor.Flag> flags;
    private final TensorMaker tensors;
    private final List<Object> containers = new ArrayList<>();

    private PythonMaker(Choices choices, Program program, List<DType> dtypes, Set<Tensor.Flag> flags) {
        this.choices = choices;
        this.program = program;
        this.dtypes = dtypes;
        this.flags = flags;
        this.tensors = new TensorMaker(program);
    }

    /// {@return a state}
    static Object make(Choices choices, Program program) {
        return new PythonMaker(choices, program, DType.values(), EnumSet.allOf(Tensor.Flag.class)).root();
    }

    /// {@return a state that PyTorch can load: it makes no quantized tensors of integers alone, and has trouble with
    /// gradients where storages have elements of several types}
    static Object makeForPyTorch(Choices choices, Program program) {
        List<DType> dtypes = DType.values().stream().filter(type -> type.kind() != DType.Kind.QUANTIZED).toList();
        return new PythonMaker(choices, program, dtypes, EnumSet.of(Tensor.Flag.CONJ, Tensor.Flag.NEG)).root();
    }

    private Object root() {
        Map<Object, Object> root = remember(program.map());
        while (choices.next()) {
            program.put(root, key(2), value(0));
        }
        return root;
    }

    private Object value(int depth) {
        return switch (choices.below(12)) {
            case 0, 1, 2 -> leaf();
            case 3, 4, 5, 6 -> tensor();
            case 7 -> choices.of(containers);
            default -> depth < MAX_DEPTH ? container(depth + 1) : leaf();
        };
    }

    private Object leaf() {
        return switch (choices.below(16)) {
            case 0 -> null;
            case 1 -> choices.yes();
            case 2 -> choices.of(LONGS);
            case 3 -> choices.bits();
            case 4 -> choices.of(DOUBLES);
            case 5, 6 -> choices.of(STRINGS);
            case 7 -> choices.bytes(choices.below(20));
            case 8 -> BigInteger.ONE.shiftLeft(64).add(BigInteger.valueOf(choices.bits())).shiftLeft(choices.below(200))
                    .negate();
            case 9 -> new Complex(choices.of(DOUBLES), choices.of(DOUBLES));
            case 10 -> choices.of(DType.values());
            case 11 -> choices.yes() ? Device.cuda(choices.below(3)) : Shape.of(2, choices.below(9));
            case 12 -> new Symbol(choices.of(SYMBOLS));
            case 13 -> tensors.storage(StorageSketch.of(choices));
            case 14 -> meta(choices.of(dtypes), choices.below(5));
            default -> {
                Storage storage = tensors.storage(StorageSketch.of(choices));
                yield program.declare("u", new TypedStorage(storage, DType.UINT8),
                        "new TypedStorage(" + program.use(storage) + ", DType.UINT8)");
            }
        };
    }

    private Tensor meta(DType dtype, int size) {
        return program.declare("t", Tensor.meta(dtype, 2, size),
                "Tensor.meta(" + JavaSource.of(dtype) + ", 2, " + size + ")");
    }

    private Tensor tensor() {
        return tensors.tensor(TensorSketch.of(choices, tensors.isEmpty(), dtypes, flags));
    }

    private Object container(int depth) {
        return switch (choices.below(9)) {
            case 0, 1 -> map(depth, remember(program.map()));
            case 2 -> list(depth);
            case 3 -> tuple(depth);
            case 4 -> keys(remember(program.set()));
            case 5 -> orderedDict(depth);
            case 6 -> parameter(depth);
            case 7 -> remember(program.typed("builtins.bytearray", choices.bytes(choices.below(9))));
            default -> remember(program.typed("builtins.frozenset", keys(program.set())));
        };
    }

    private <T> T remember(T container) {
        containers.add(container);
        return container;
    }

    private int count() {
        return choices.areUsedUp() ? 0 : choices.below(7);
    }

    private Map<Object, Object> map(int depth, Map<Object, Object> map) {
        for (int left = count(); left > 0; left--) {
            program.put(map, key(2), value(depth));
        }
        return map;
    }

    private List<Object> list(int depth) {
        List<Object> list = remember(program.list());
        for (int left = count(); left > 0; left--) {
            program.add(list, value(depth));
        }
        return list;
    }

    private Tuple tuple(int depth) {
        List<Object> elements = new ArrayList<>();
        for (int left = count(); left > 0; left--) {
            elements.add(value(depth));
        }
        return remember(program.tuple(elements));
    }

    private Set<Object> keys(Set<Object> set) {
        for (int left = count(); left > 0; left--) {
            program.add(set, key(2));
        }
        return set;
    }

    private TypedMap orderedDict(int depth) {
        TypedMap map = remember(program.typedMap("collections.OrderedDict"));
        map(depth, map);
        if (choices.yes()) {
            program.put(map.attributes(), "_metadata", value(depth));
        }
        return map;
    }

    /// On a tensor of its own: the tensor inside of a parameter is no object of PyTorch's. It cannot hold itself.
    private Typed parameter(int depth) {
        Tensor inner = tensor();
        Typed parameter = program.typed("torch.nn.parameter.Parameter", program.view(inner,
                inner.withFlags(inner.flags()), "withFlags(" + program.use(inner) + ".flags())"));
        if (choices.below(4) == 0) {
            program.put(parameter.attributes(), "note", value(depth));
        }
        return remember(parameter);
    }

    private Object key(int tuples) {
        return switch (choices.below(tuples > 0 ? 9 : 8)) {
            case 0, 1, 2 -> choices.of(STRINGS);
            case 3 -> choices.of(LONGS);
            case 4, 5 -> (long) choices.below(50);
            case 6 -> choices.yes() ? choices.of(DOUBLES) : null;
            case 7 -> choices.of(DType.values());
            default -> Tuple.of(key(tuples - 1), key(tuples - 1));
        };
    }
}
