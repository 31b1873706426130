package io.undercroft.properties.states;

import io.undercroft.properties.Choices;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.TypedStorage;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// Makes states of every shape that a state can have: containers in containers, each of them perhaps again in another
/// place or in itself, and tensors that share storages in every way.
public final class StateMaker {
    private static final int MAX_DEPTH = 100;
    private static final int LEAVES = 14;
    private static final int CONTAINERS = 6;

    private static final List<String> STRINGS = List.of("", "weight", "model.layers.0.weight", "a/b", "~", "~1", "/",
            "$tensor", "#2",
            "0", "1", "é", "e\u0301", "\uD83D\uDE00", "\u0000", "\u202E", "line\nbreak", "\uFFFF", "\u65E5\u672C\u8A9E",
            " ", "x".repeat(300));
    private static final List<Double> DOUBLES = List.of(0.0, -0.0, 1.5, Double.NaN, Double.POSITIVE_INFINITY,
            Double.NEGATIVE_INFINITY,
            Double.MIN_VALUE, -Double.MAX_VALUE, Double.longBitsToDouble(0x7ff8_0000_dead_beefL));
    private static final List<Long> LONGS = List.of(0L, 1L, -1L, 127L, 128L, -128L, 1L << 31, Long.MAX_VALUE,
            Long.MIN_VALUE);
    private static final List<Device> DEVICES = List.of(Device.CPU, Device.META, Device.cuda(0), Device.cuda(7),
            Device.parse("mps"));
    private static final List<Shape> SHAPES = List.of(Shape.of(), Shape.of(0), Shape.of(2, 3), Shape.of(1L << 40, 0),
            Shape.of(1L << 62));

    private final Choices choices;
    private final TensorMaker tensors;
    private final List<Object> containers = new ArrayList<>();

    private StateMaker(Choices choices) {
        this.choices = choices;
        this.tensors = new TensorMaker(choices);
    }

    /// {@return a state; equal choices make equal ones}
    public static Object make(byte... bytes) {
        return new StateMaker(new Choices(bytes)).root();
    }

    /// Mostly a map or a list that takes all choices there are, as a leaf at the top would leave them unused.
    private Object root() {
        switch (choices.below(8)) {
            case 0 -> {
                return value(0);
            }
            case 1 -> {
                List<Object> list = remember(new ArrayList<>());
                while (!choices.areUsedUp()) {
                    list.add(value(0));
                }
                return list;
            }
            default -> {
                Map<Object, Object> map = remember(new LinkedHashMap<>());
                while (!choices.areUsedUp()) {
                    map.put(key(2), value(0));
                }
                return map;
            }
        }
    }

    private Object value(int depth) {
        // As many containers as choices allow, else states stay small; of the rest half are tensors, what this library
        // is for.
        return switch (choices.below(12)) {
            case 0, 1, 2 -> leaf();
            case 3, 4, 5, 6 -> tensors.tensor();
            case 7 -> containers.isEmpty() ? "" : choices.of(containers);
            default -> depth < MAX_DEPTH ? container(depth + 1) : leaf();
        };
    }

    private Object leaf() {
        return switch (choices.below(LEAVES)) {
            case 0 -> null;
            case 1 -> choices.yes();
            case 2 -> choices.of(LONGS);
            case 3 -> choices.bits();
            case 4 -> choices.of(DOUBLES);
            case 5 -> choices.of(STRINGS);
            case 6 -> bytes();
            case 7 -> BigInteger.ONE.shiftLeft(Long.SIZE).add(BigInteger.valueOf(choices.bits()))
                    .shiftLeft(choices.below(200)).negate();
            case 8 -> new Complex(choices.of(DOUBLES), choices.of(DOUBLES));
            case 9 -> choices.of(DType.values());
            case 10 -> choices.yes() ? choices.of(DEVICES) : choices.of(SHAPES);
            case 11 -> new Symbol("torch." + choices.of(STRINGS));
            case 12 -> tensors.storage();
            default -> new TypedStorage(tensors.storage(), DType.UINT8);
        };
    }

    private byte[] bytes() {
        byte[] made = new byte[choices.below(40)];
        for (int i = 0; i < made.length; i++) {
            made[i] = (byte) choices.below(256);
        }
        return made;
    }

    private Object container(int depth) {
        return switch (choices.below(CONTAINERS)) {
            case 0 -> map(depth, remember(new LinkedHashMap<>()));
            case 1 -> list(depth);
            case 2 -> tuple(depth);
            case 3 -> set();
            case 4 -> typedMap(depth);
            default -> typed(depth);
        };
    }

    private <T> T remember(T container) {
        containers.add(container);
        return container;
    }

    private int count() {
        return choices.areUsedUp() ? 0 : choices.below(8);
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

    private Set<Object> set() {
        Set<Object> set = remember(new LinkedHashSet<>());
        for (int left = count(); left > 0; left--) {
            set.add(key(2));
        }
        return set;
    }

    private TypedMap typedMap(int depth) {
        TypedMap map = remember(new TypedMap("collections." + choices.of(STRINGS)));
        map(depth, map);
        attributes(depth, map.attributes());
        return map;
    }

    private Typed typed(int depth) {
        Typed typed = remember(new Typed("torch.nn." + choices.of(STRINGS), null));
        Object value = value(depth);
        if (!(value instanceof Map)) {
            typed.value(value);
        }
        attributes(depth, typed.attributes());
        return typed;
    }

    private void attributes(int depth, Map<String, Object> attributes) {
        for (int left = choices.below(3); left > 0; left--) {
            attributes.put(choices.of(STRINGS), value(depth));
        }
    }

    private Object key(int tuples) {
        return switch (choices.below(tuples > 0 ? 9 : 8)) {
            case 0, 1, 2 -> choices.of(STRINGS);
            case 3 -> choices.of(LONGS);
            case 4 -> (long) choices.below(5);
            case 5 -> choices.yes() ? choices.of(DOUBLES) : null;
            case 6 -> choices.yes();
            case 7 -> choices.yes() ? choices.of(DType.values()) : new Complex(1, choices.below(3));
            default -> Tuple.of(key(tuples - 1), key(tuples - 1));
        };
    }
}
