package io.undercroft.interop.torch;

import io.undercroft.serializer.state.StateIndex;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.Tensor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// The names that `state_dict()` of PyTorch would give to the tensors of the modules in a state, in its order:
/// `fc1.weight` for `_modules/fc1/_parameters/weight`. Of a module that is not the state itself they begin with its
/// path, for instance `model/fc1.weight`.
///
/// A module is an [InertObject] with the entries `_parameters`, `_buffers` and `_modules`. One that is in several
/// places has names for each; a small file can make these very many, so their number is limited.
final class ModuleNames {
    /// How many modules and tensors are visited, again at each of their places.
    private static final int MOST_VISITS = 1 << 20;
    /// How many characters all names may have together.
    private static final long MOST_CHARACTERS = 1L << 26;

    private final IdentityHashMap<Tensor, String> names = new IdentityHashMap<>();
    private final Map<String, String> aliases = new LinkedHashMap<>();
    private int visits;
    private long characters;

    private ModuleNames(Map<String, Tensor> tensors) {
        tensors.forEach((name, tensor) -> names.putIfAbsent(tensor, name));
    }

    /// {@return the names of the tensors by those that `state_dict()` would give}
    ///
    /// @param state the state
    /// @param tensors its tensors by name
    static Map<String, String> of(@Nullable Object state, Map<String, Tensor> tensors) {
        ModuleNames modules = new ModuleNames(tensors);
        modules.search(state);
        modules.aliases.keySet().removeAll(tensors.keySet());
        return Collections.unmodifiableMap(modules.aliases);
    }

    private record Place(Object value, String path) {}

    /// Looks for modules in maps and lists, each once.
    private void search(@Nullable Object state) {
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Place> open = new ArrayDeque<>();
        if (state != null) {
            open.push(new Place(state, ""));
        }
        while (!open.isEmpty() && visits < MOST_VISITS) {
            Place place = open.pop();
            if (!seen.add(place.value)) {
                continue;
            }
            visits++;
            if (isModule(place.value)) {
                String prefix = place.path.isEmpty() ? "" : place.path + "/";
                addModule((Map<?, ?>) place.value, prefix, Collections.newSetFromMap(new IdentityHashMap<>()));
            } else {
                children(place).reversed().forEach(open::push);
            }
        }
    }

    private static List<Place> children(Place place) {
        List<Place> children = new ArrayList<>();
        if (place.value instanceof Map<?, ?> map) {
            map.forEach((key, value) -> addChild(place, key, value, children));
        } else if (place.value instanceof List<?> list) {
            int index = 0;
            for (Object value : list) {
                addChild(place, index++, value, children);
            }
        }
        return children;
    }

    private static void addChild(Place place, @Nullable Object key, @Nullable Object value, List<Place> children) {
        if (value instanceof Map || value instanceof List) {
            String segment = StateIndex.segment(key);
            children.add(new Place(value, place.path.isEmpty() ? segment : place.path + "/" + segment));
        }
    }

    private static boolean isModule(Object value) {
        return InertObject.is(value) && value instanceof Map<?, ?> map && map.get("_parameters") instanceof Map
                && map.get("_buffers") instanceof Map && map.get("_modules") instanceof Map;
    }

    /// Recursion is safe, as containers nest to a limit and a module in itself is left out.
    ///
    /// @param around the modules that it is in
    private void addModule(Map<?, ?> module, String prefix, Set<Object> around) {
        if (!around.add(module)) {
            return;
        }
        addTensors(module.get("_parameters"), prefix, Set.of());
        addTensors(module.get("_buffers"), prefix,
                module.get("_non_persistent_buffers_set") instanceof Set<?> left ? left : Set.of());
        if (module.get("_modules") instanceof Map<?, ?> modules) {
            modules.forEach((name, inner) -> {
                if (++visits < MOST_VISITS && name instanceof String text && inner != null && isModule(inner)) {
                    addModule((Map<?, ?>) inner, prefix + text + ".", around);
                }
            });
        }
        around.remove(module);
    }

    private void addTensors(@Nullable Object tensors, String prefix, Set<?> without) {
        if (tensors instanceof Map<?, ?> map) {
            map.forEach((key, value) -> {
                String name = names.get(tensorIn(value));
                if (++visits < MOST_VISITS && name != null && key instanceof String text && !without.contains(text)) {
                    characters += prefix.length() + text.length();
                    if (characters <= MOST_CHARACTERS) {
                        aliases.putIfAbsent(prefix + text, name);
                    }
                }
            });
        }
    }

    private static @Nullable Tensor tensorIn(@Nullable Object value) {
        Object held = value;
        while (held instanceof Typed typed) {
            held = typed.value();
        }
        return held instanceof Tensor tensor ? tensor : null;
    }
}
