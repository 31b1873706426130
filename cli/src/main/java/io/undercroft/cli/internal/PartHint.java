package io.undercroft.cli.internal;

import io.undercroft.serializer.state.PythonObjects;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.serializer.state.StatePart;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// The part of a state to save in a format that cannot hold all of it: the weights of a training checkpoint.
public final class PartHint {
    private static final int MOST_VISITED = 1 << 16;
    private static final int MOST_TRIED = 16;

    private final List<Candidate> candidates = new ArrayList<>();
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private int visited;
    private int modules;

    private PartHint() {}

    /// A part that holds tensors by name.
    ///
    /// @param hasText whether all its keys are texts, as those of a model are; the state of an optimizer has numbers
    private record Candidate(String path, @Nullable Object value, boolean hasText, int tensors) {
        /// A part that holds no tensor, or others than tensors.
        static final int NONE = -1;
    }

    /// {@return the path of the part with the most tensors that can be saved; nothing if there is none, or if the state
    /// itself holds nothing but tensors by name}
    ///
    /// @param state the root of the tree
    /// @param canBeSaved whether a part can be saved
    public static Optional<String> in(@Nullable Object state, Predicate<@Nullable Object> canBeSaved) {
        PartHint hint = new PartHint();
        if (hint.count(state, 0) > 0) {
            return Optional.empty();
        }
        if (PythonObjects.isModule(state)) {
            hint.addModule("", state);
        }
        hint.addChildren(new StatePart("", state), 0);
        return hint.candidates.stream()
                .filter(candidate -> !candidate.path.isEmpty())
                .sorted(Comparator.comparing(Candidate::hasText).thenComparing(Candidate::tensors).reversed())
                .limit(MOST_TRIED).filter(candidate -> canBeSaved.test(candidate.value)).findFirst()
                .map(Candidate::path);
    }

    private void addChildren(StatePart parent, int depth) {
        if (parent.value() == null || depth > StateIndex.MAX_DEPTH || visited > MOST_VISITED
                || !seen.add(parent.value())) {
            return;
        }
        parent.children().takeWhile(_ -> visited <= MOST_VISITED).forEach(child -> {
            visited++;
            int tensors = count(child.value(), depth + 1);
            if (tensors > 0) {
                candidates.add(new Candidate(child.path(), child.value(), hasText(child.value(), depth + 1), tensors));
            } else if (PythonObjects.isModule(child.value())) {
                addModule(child.path(), child.value());
            } else {
                addChildren(child, depth + 1);
            }
        });
    }

    /// Formats of tensors by name take the module itself, others its state_dict.
    private void addModule(String path, @Nullable Object value) {
        if (value instanceof TypedMap module && ++modules <= MOST_TRIED) {
            try {
                TypedMap dict = PythonObjects.stateDict(module);
                if (!dict.isEmpty()) {
                    candidates.add(new Candidate(path, module, true, dict.size()));
                    candidates.add(new Candidate(StatePart.join(path, StatePart.STATE_DICT), dict, true, dict.size()));
                }
            } catch (IllegalArgumentException _) {
                // It has too many names to be saved.
            }
        }
    }

    /// {@return the number of tensors of a map that holds, itself or in maps, nothing else; or [Candidate#NONE]}
    private int count(@Nullable Object value, int depth) {
        visited++;
        if (!(value instanceof Map<?, ?> map) || PythonObjects.is(map) || depth > StateIndex.MAX_DEPTH) {
            return Candidate.NONE;
        }
        int tensors = 0;
        for (Object held : map.values()) {
            int more = isTensor(held) ? 1 : visited > MOST_VISITED ? Candidate.NONE : count(held, depth + 1);
            if (more == Candidate.NONE) {
                return Candidate.NONE;
            }
            tensors += more;
        }
        return tensors;
    }

    private static boolean isTensor(@Nullable Object value) {
        return value instanceof Tensor || (value instanceof Typed typed && typed.value() instanceof Tensor);
    }

    private static boolean hasText(@Nullable Object value, int depth) {
        return !(value instanceof Map<?, ?> map) || depth > StateIndex.MAX_DEPTH
                || map.entrySet().stream()
                        .allMatch(entry -> entry.getKey() instanceof String && hasText(entry.getValue(), depth + 1));
    }
}
