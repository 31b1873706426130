package io.undercroft.cli.internal;

import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StatePart;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// The weights of a training checkpoint, for a message that a format cannot hold all of it: the part of a state that
/// holds tensors by name and nothing else.
public final class Weights {
    private static final int MOST_VISITED = 1 << 16;
    private static final int MOST_MODULES = 16;
    private static final Part TENSOR = new Part("", 1, true);

    private final boolean areModulesTaken;
    private final List<Part> parts = new ArrayList<>();
    /// The containers that hold something else, and those around the current one.
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private int left = MOST_VISITED;
    private int modules;

    private Weights(boolean areModulesTaken) {
        this.areModulesTaken = areModulesTaken;
    }

    /// A part that holds tensors by name, or a tensor; that has no path here, as the state has none.
    ///
    /// @param hasText whether all its keys are texts, as those of a model are; the state of an optimizer has numbers
    private record Part(String path, int tensors, boolean hasText) {}

    /// {@return the path of the part with the most tensors; nothing if there is none, or if the state itself holds
    /// nothing but tensors by name}
    ///
    /// @param state the root of the tree
    /// @param refused the path of a value that must not be in the part
    /// @param areModulesTaken whether the part may be a module of PyTorch, of which the format takes the `state_dict`
    public static Optional<String> in(@Nullable Object state, String refused, boolean areModulesTaken) {
        Weights weights = new Weights(areModulesTaken);
        return weights.visit(new StatePart("", state), 0) != null
                ? Optional.empty()
                : weights.parts.stream().filter(part -> !part.path.isEmpty() && part.tensors > 0)
                        .filter(part -> !(refused + "/").startsWith(part.path + "/"))
                        .max(Comparator.comparing(Part::hasText).thenComparing(Part::tensors)).map(Part::path);
    }

    /// Returns the part that a value is, or null if it holds anything else; then the parts in it are noted.
    private @Nullable Part visit(StatePart at, int depth) {
        Object value = at.value();
        if (value instanceof Tensor || (value instanceof Typed typed && typed.value() instanceof Tensor)) {
            return TENSOR;
        }
        if (value instanceof TypedMap module && PythonObjects.isModule(module)) {
            addModule(at.path(), module);
            return null;
        }
        if (value == null || depth > StateIndex.MAX_DEPTH || !seen.add(value)) {
            return null;
        }
        List<StatePart> elements = at.elements().takeWhile(_ -> left-- > 0).toList();
        List<Part> inside = elements.stream().map(element -> visit(element, depth + 1)).filter(Objects::nonNull)
                .toList();
        if (value instanceof Map<?, ?> map && !PythonObjects.is(map) && inside.size() == map.size()) {
            seen.remove(value);
            return new Part(at.path(), inside.stream().mapToInt(Part::tensors).sum(),
                    map.keySet().stream().allMatch(String.class::isInstance)
                            && inside.stream().allMatch(Part::hasText));
        }
        parts.addAll(inside);
        at.children().skip(elements.size()).takeWhile(_ -> left-- > 0)
                .map(attribute -> visit(attribute, depth + 1)).filter(Objects::nonNull).forEach(parts::add);
        return null;
    }

    private void addModule(String path, TypedMap module) {
        if (++modules <= MOST_MODULES) {
            try {
                parts.add(new Part(areModulesTaken ? path : StatePart.join(path, StatePart.STATE_DICT),
                        PythonObjects.stateDict(module).size(), true));
            } catch (IllegalArgumentException _) {
                // It has too many names to be saved.
            }
        }
    }
}
