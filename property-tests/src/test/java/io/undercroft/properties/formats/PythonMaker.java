package io.undercroft.properties.formats;

import io.undercroft.properties.Choices;
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
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
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
    private final List<DType> dtypes;
    private final Set<Tensor.Flag> flags;
    private final TensorMaker tensors = new TensorMaker(new Program());
    private final List<Object> containers = new ArrayList<>();

    private PythonMaker(Choices choices, List<DType> dtypes, Set<Tensor.Flag> flags) {
        this.choices = choices;
        this.dtypes = dtypes;
        this.flags = flags;
    }

    /// {@return a state; equal choices make equal ones}
    static Object make(byte... bytes) {
        return make(new PythonMaker(new Choices(bytes), DType.values(), EnumSet.allOf(Tensor.Flag.class)));
    }

    /// {@return a state that PyTorch can load: it makes no quantized tensors of integers alone, and has trouble with
    /// gradients where
    ///     storages have elements of several types}
    static Object makeForPyTorch(byte... bytes) {
        List<DType> dtypes = DType.values().stream().filter(type -> type.kind() != DType.Kind.QUANTIZED).toList();
        return make(new PythonMaker(new Choices(bytes), dtypes, EnumSet.of(Tensor.Flag.CONJ, Tensor.Flag.NEG)));
    }

    private static Object make(PythonMaker maker) {
        Map<Object, Object> root = maker.remember(new LinkedHashMap<>());
        while (!maker.choices.areUsedUp()) {
            root.put(maker.key(2), maker.value(0));
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
            case 14 -> Tensor.meta(choices.of(dtypes), 2, choices.below(5));
            default -> new TypedStorage(tensors.storage(StorageSketch.of(choices)), DType.UINT8);
        };
    }

    private Tensor tensor() {
        return tensors.tensor(TensorSketch.of(choices, tensors.isEmpty(), dtypes, flags));
    }

    private Object container(int depth) {
        return switch (choices.below(9)) {
            case 0, 1 -> map(depth, remember(new LinkedHashMap<>()));
            case 2 -> list(depth);
            case 3 -> tuple(depth);
            case 4 -> keys(remember(new LinkedHashSet<>()));
            case 5 -> orderedDict(depth);
            case 6 -> parameter(depth);
            case 7 -> remember(new Typed("builtins.bytearray", choices.bytes(choices.below(9))));
            default -> remember(new Typed("builtins.frozenset", keys(new LinkedHashSet<>())));
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
            map.put(key(2), value(depth));
        }
        return map;
    }

    private List<Object> list(int depth) {
        List<Object> list = remember(new ArrayList<>());
        for (int left = count(); left > 0; left--) {
            list.add(value(depth));
        }
        return list;
    }

    private Tuple tuple(int depth) {
        var tuple = new Tuple.Builder();
        for (int left = count(); left > 0; left--) {
            tuple.add(value(depth));
        }
        return remember(tuple.tuple());
    }

    private Set<Object> keys(Set<Object> set) {
        for (int left = count(); left > 0; left--) {
            set.add(key(2));
        }
        return set;
    }

    private TypedMap orderedDict(int depth) {
        TypedMap map = remember(new TypedMap("collections.OrderedDict"));
        map(depth, map);
        if (choices.yes()) {
            map.attributes().put("_metadata", value(depth));
        }
        return map;
    }

    /// On a tensor of its own: the tensor inside of a parameter is no object of PyTorch's. It cannot hold itself.
    private Typed parameter(int depth) {
        Tensor inner = tensor();
        Typed parameter = new Typed("torch.nn.parameter.Parameter", inner.withFlags(inner.flags()));
        if (choices.below(4) == 0) {
            parameter.attributes().put("note", value(depth));
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
