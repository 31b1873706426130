package io.undercroft.properties.formats;

import io.undercroft.properties.Choices;
import io.undercroft.properties.states.PlainTensors;
import io.undercroft.properties.states.Program;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
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
    private final Program program;
    private final PlainTensors tensors;

    private NamedMaker(Choices choices, Program program, List<DType> dtypes) {
        this.choices = choices;
        this.program = program;
        this.tensors = PlainTensors.of(choices, program, dtypes);
    }

    /// {@return a state}
    static Map<Object, Object> make(Choices choices, Program program, List<DType> dtypes) {
        return new NamedMaker(choices, program, dtypes).fill(program.map());
    }

    /// {@return a state with metadata as GGUF has it}
    static Map<Object, Object> makeGguf(Choices choices, Program program, List<DType> dtypes) {
        NamedMaker maker = new NamedMaker(choices, program, dtypes);
        TypedMap state = program.typedMap("gguf");
        for (int left = choices.below(4); left > 0; left--) {
            program.put(state.attributes(), "key." + left, maker.value());
        }
        return maker.fill(state);
    }

    /// {@return a state of one tensor}
    static Tensor makeOne(Choices choices, Program program, List<DType> dtypes) {
        NamedMaker maker = new NamedMaker(choices, program, dtypes);
        Tensor tensor = maker.tensors.tensor();
        for (int left = choices.below(4); left > 0; left--) {
            tensor = maker.tensors.tensor();
        }
        return tensor;
    }

    /// A map, and what the names of tensors in it start with.
    private record Place(Map<Object, Object> map, String path) {}

    /// Two tensors whose keys give one name are refused, by a test of its own.
    private Map<Object, Object> fill(Map<Object, Object> root) {
        List<Place> places = new ArrayList<>(List.of(new Place(root, "")));
        Set<String> names = new HashSet<>();
        boolean isFlat = choices.yes();
        for (int count = 0; count < MAX_TENSORS && choices.next(); count++) {
            Place place = choices.of(places);
            boolean isMap = !isFlat && choices.below(3) == 0;
            Object key = key(count);
            String name = place.path + key;
            if (place.map.containsKey(key) || (!isMap && !names.add(name))) {
                continue;
            }
            if (isMap) {
                Map<Object, Object> inner = choices.yes()
                        ? program.map()
                        : program.typedMap("collections.OrderedDict");
                places.add(new Place(inner, name.isEmpty() ? "" : name + "/"));
                program.put(place.map, key, inner);
            } else {
                program.put(place.map, key, tensors.tensor());
            }
        }
        return root;
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
            case 0 -> program.typed("gguf:uint32", (long) choices.below(1 << 20));
            case 1 -> program.typed("gguf:uint8", (long) choices.below(256));
            case 2 -> array("int32", choices.below(9), -choices.below(9));
            case 3 -> array("string", "a", "", "\u65E5");
            case 4 -> array("array", array("uint16", 1L, 2L), array("bool"));
            default -> choices.of(VALUES);
        };
    }

    /// On a list of its own, as the empty `List.of()` is always the same one.
    private Typed array(String type, Object... elements) {
        List<Object> list = Arrays.asList(elements);
        return program.typed("gguf:array:" + type,
                program.declare("l", list, "Arrays.<Object>asList(" + program.useAll(list) + ")"));
    }
}
