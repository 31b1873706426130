package io.undercroft.properties.formats;

import io.undercroft.properties.Choices;
import io.undercroft.properties.states.PlainTensors;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// Makes states of nothing but tensors by name, flat or in maps in maps, for formats that hold nothing else.
final class NamedMaker {
    private static final int MAX_TENSORS = 10;
    private static final List<String> NAMES = List.of("weight", "bias", "a.b.c", "a/b", "a~1b", "~", "a", "b/weight",
            "b~1weight", "0", "é",
            "\uD83D\uDE00",
            "line\nbreak", "\u202E", " ", "$", "\"quoted\\", "x".repeat(70), "", "__metadata__", "..",
            "../up", "\u0000", "\uD800",
            "/top", "archive/data.pkl", "file", "format", "undercroft.views", "a.npy", "C:\\x");
    private static final List<Object> VALUES = List.of((byte) -1, (short) 300, 70_000, 1L << 40, 1.5f, -0.0, true, "",
            "gpt2\n\u65E5", new byte[]{-1, 0});

    private final Choices choices;
    private final PlainTensors tensors;

    private NamedMaker(Choices choices, List<DType> dtypes) {
        this.choices = choices;
        this.tensors = PlainTensors.of(choices, dtypes);
    }

    /// {@return a state; equal choices make equal ones}
    static Map<Object, Object> make(List<DType> dtypes, byte... bytes) {
        NamedMaker maker = new NamedMaker(new Choices(bytes), dtypes);
        return maker.fill(new LinkedHashMap<>());
    }

    /// {@return a state with metadata as GGUF has it}
    static Map<Object, Object> makeGguf(List<DType> dtypes, byte... bytes) {
        NamedMaker maker = new NamedMaker(new Choices(bytes), dtypes);
        TypedMap state = new TypedMap("gguf");
        for (int left = maker.choices.below(4); left > 0; left--) {
            state.attributes().put("key." + left, maker.value());
        }
        maker.fill(state);
        return state;
    }

    /// {@return a state of one tensor}
    static Tensor makeOne(List<DType> dtypes, byte... bytes) {
        NamedMaker maker = new NamedMaker(new Choices(bytes), dtypes);
        Tensor tensor = maker.tensors.tensor();
        for (int left = maker.choices.below(4); left > 0; left--) {
            tensor = maker.tensors.tensor();
        }
        return tensor;
    }

    private Map<Object, Object> fill(Map<Object, Object> root) {
        List<Map<Object, Object>> maps = new ArrayList<>(List.of(root));
        boolean isFlat = choices.yes();
        for (int count = 0; count < MAX_TENSORS && !choices.areUsedUp(); count++) {
            Map<Object, Object> map = choices.of(maps);
            if (!isFlat && choices.below(3) == 0) {
                Map<Object, Object> inner = choices.yes()
                        ? new LinkedHashMap<>()
                        : new TypedMap("collections.OrderedDict");
                maps.add(inner);
                map.putIfAbsent(key(count), inner);
            } else {
                map.putIfAbsent(key(count), tensors.tensor());
            }
        }
        removeDoubles("", root, new HashSet<>());
        return root;
    }

    /// Two tensors whose keys give one name are refused, by a test of its own.
    private static void removeDoubles(String path, Map<Object, Object> map, Set<String> names) {
        map.entrySet().removeIf(entry -> {
            String name = path + entry.getKey();
            if (entry.getValue() instanceof Map<?, ?> inner) {
                removeDoubles(name.isEmpty() ? "" : name + "/", mutable(inner), names);
                return false;
            }
            return !names.add(name);
        });
    }

    @SuppressWarnings("unchecked")
    private static Map<Object, Object> mutable(Map<?, ?> map) {
        return (Map<Object, Object>) map;
    }

    private Object key(int count) {
        return switch (choices.below(12)) {
            case 10 -> choices.of(NAMES);
            case 11 -> (long) choices.below(3);
            default -> "t" + count;
        };
    }

    private Object value() {
        return switch (choices.below(6)) {
            case 0 -> new Typed("gguf:uint32", (long) choices.below(1 << 20));
            case 1 -> new Typed("gguf:uint8", (long) choices.below(256));
            case 2 -> array("int32", choices.below(9), -choices.below(9));
            case 3 -> array("string", "a", "", "\u65E5");
            case 4 -> array("array", array("uint16", 1L, 2L), array("bool"));
            default -> choices.of(VALUES);
        };
    }

    /// On a list of its own, as the empty `List.of()` is always the same one.
    private static Typed array(String type, Object... elements) {
        return new Typed("gguf:array:" + type, Arrays.asList(elements));
    }
}
