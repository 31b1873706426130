package io.undercroft.serializer.internal.tree;

import io.undercroft.serializer.state.TypedMap;
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
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/// Methods for objects of Python in a state, and for modules of PyTorch among them.
///
/// A pickle may have objects of classes of which this library knows only the name. Each is a [TypedMap] of the type
/// `python:` and the name of the class, whose entries are the state that the pickle sets for the object. A module (a
/// `torch.nn.Module`) is such an object with the entries `_parameters`, `_buffers` and `_modules`. No code of these
/// classes is executed.
public final class PythonObjects {
    /// The prefix of the types of these nodes.
    public static final String TYPE = "python:";

    private static final String ORDERED_DICT = "collections.OrderedDict";
    private static final String PARAMETERS = "_parameters";
    private static final String BUFFERS = "_buffers";
    private static final String MODULES = "_modules";

    private PythonObjects() {}

    /// {@return whether a value is an object of Python}
    ///
    /// @param value a value of a state
    public static boolean is(@Nullable Object value) {
        return value instanceof TypedMap map && map.type().startsWith(TYPE);
    }

    /// {@return the name of the class of an object, for instance `torch.nn.modules.linear.Linear`}
    ///
    /// @param object an object
    public static String className(TypedMap object) {
        return object.type().substring(TYPE.length());
    }

    /// {@return whether a value is a module of PyTorch}
    ///
    /// @param value a value of a state
    public static boolean isModule(@Nullable Object value) {
        return is(value) && value instanceof Map<?, ?> map && map.get(PARAMETERS) instanceof Map
                && map.get(BUFFERS) instanceof Map && map.get(MODULES) instanceof Map;
    }

    /// {@return the entries of PyTorch's `state_dict()` of a module: its parameters and buffers, and those of its
    /// submodules, by names such as `fc1.weight`, in the order of PyTorch} Buffers that are not persistent are left
    /// out. The names may differ from PyTorch's if the class of a module overrides `state_dict()`.
    ///
    /// @param module a [module][#isModule]
    /// @throws IllegalArgumentException if there would be more than a million names, because modules are shared
    public static TypedMap stateDict(TypedMap module) {
        TypedMap dict = new TypedMap(ORDERED_DICT);
        ModuleWalk walk = new ModuleWalk(dict::put);
        walk.add(module, "");
        if (walk.isEndedEarly()) {
            throw new IllegalArgumentException("modules that are in several places give the tensors of the module "
                    + className(module) + " too many names");
        }
        return dict;
    }

    /// {@return the names of tensors by the names that `state_dict()` gives to them} Names in a module that is not the
    /// root of the state begin with the path of the module, for instance `model/fc1.weight`. A module in several places
    /// has names for each place. The number of names is limited, as a small file can define very many.
    ///
    /// @param state the root of the tree
    /// @param tensors its tensors by [name][StateIndex]
    public static Map<String, String> aliases(@Nullable Object state, Map<String, Tensor> tensors) {
        if (tensors.keySet().stream().noneMatch(PythonObjects::mayBeInModule)) {
            return Map.of();
        }
        IdentityHashMap<Tensor, String> names = new IdentityHashMap<>();
        tensors.forEach((name, tensor) -> names.putIfAbsent(tensor, name));
        Map<String, String> aliases = new LinkedHashMap<>();
        ModuleWalk walk = new ModuleWalk((alias, value) -> {
            String name = names.get(tensorIn(value));
            if (name != null) {
                aliases.putIfAbsent(alias, name);
            }
        });
        walk.search(state);
        aliases.keySet().removeAll(tensors.keySet());
        return Collections.unmodifiableMap(aliases);
    }

    /// {@return whether a tensor may belong to a module, and have an [alias][#aliases]}
    ///
    /// @param name the name of the tensor
    public static boolean mayBeInModule(String name) {
        return name.contains(PARAMETERS + "/") || name.contains(BUFFERS + "/");
    }

    private static @Nullable Tensor tensorIn(@Nullable Object value) {
        return StateIndex.held(value) instanceof Tensor tensor ? tensor : null;
    }

    /// A walk through the modules of a state.
    private static final class ModuleWalk {
        /// The maximum number of visits to modules and tensors, counted at each of their places.
        private static final int MOST_VISITS = 1 << 20;
        /// The maximum number of characters of all names together.
        private static final long MOST_CHARACTERS = 1L << 26;

        private final BiConsumer<String, @Nullable Object> found;
        /// The modules that this is in.
        private final Set<Object> around = Collections.newSetFromMap(new IdentityHashMap<>());
        private int visits;
        private long characters;

        /// @param found called with the name of each tensor in `state_dict()`, and the tensor or the parameter
        ModuleWalk(BiConsumer<String, @Nullable Object> found) {
            this.found = found;
        }

        private record Place(Object value, String path) {}

        boolean isEndedEarly() {
            return visits >= MOST_VISITS || characters > MOST_CHARACTERS;
        }

        /// Looks for modules in maps and lists, each once.
        void search(@Nullable Object state) {
            Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
            Deque<Place> open = new ArrayDeque<>();
            if (state != null) {
                open.push(new Place(state, ""));
            }
            while (!open.isEmpty() && !isEndedEarly()) {
                Place place = open.pop();
                if (!seen.add(place.value)) {
                    continue;
                }
                visits++;
                if (isModule(place.value)) {
                    add((Map<?, ?>) place.value, place.path.isEmpty() ? "" : place.path + "/");
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

        private static void addChild(Place place, @Nullable Object key, @Nullable Object value,
                List<Place> children) {
            if (value instanceof Map || value instanceof List) {
                String segment = StateIndex.segment(key);
                children.add(new Place(value, place.path.isEmpty() ? segment : place.path + "/" + segment));
            }
        }

        /// Recursion is safe, as containers nest to a limit and a module in itself is left out.
        void add(Map<?, ?> module, String prefix) {
            if (!around.add(module)) {
                return;
            }
            addTensors(module.get(PARAMETERS), prefix, Set.of());
            addTensors(module.get(BUFFERS), prefix,
                    module.get("_non_persistent_buffers_set") instanceof Set<?> left ? left : Set.of());
            if (module.get(MODULES) instanceof Map<?, ?> modules) {
                modules.forEach((name, inner) -> {
                    visits++;
                    if (!isEndedEarly() && name instanceof String text && inner != null && isModule(inner)) {
                        add((Map<?, ?>) inner, prefix + text + ".");
                    }
                });
            }
            around.remove(module);
        }

        private void addTensors(@Nullable Object tensors, String prefix, Set<?> without) {
            if (tensors instanceof Map<?, ?> map) {
                map.forEach((key, value) -> {
                    visits++;
                    if (key instanceof String text && tensorIn(value) != null && !without.contains(text)) {
                        characters += prefix.length() + text.length();
                        if (!isEndedEarly()) {
                            found.accept(prefix + text, value);
                        }
                    }
                });
            }
        }
    }
}
