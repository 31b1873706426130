package io.undercroft.cli.internal;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.state.PythonObjects;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// Parts of a state, named by their paths as [StateIndex] names tensors: keys and positions, escaped and joined by `/`;
/// or by unescaped keys and positions, joined by `/`, where only one part has that path. What `state_dict()` of a
/// module of PyTorch has is a part of the module, whose last segment is `state_dict`.
public final class StatePart {
    static final String STATE_DICT = "state_dict";

    private static final int MOST_NAMED = 8;

    private StatePart() {}

    /// {@return the part of a state that has a path: a container, a tensor, or any other value}
    ///
    /// @param state the root of the tree
    /// @param path the path of the part, for instance `model` or `optimizer/state/0`
    /// @throws NoSuchElementException if there is nothing, or if several parts are meant; the message names what there
    ///     is
    public static @Nullable Object at(@Nullable Object state, String path) {
        Object part = state;
        String parent = "";
        for (String segment : path.split("/", -1)) {
            SequencedMap<String, @Nullable Object> children = children(part);
            if (segment.equals(STATE_DICT) && part instanceof TypedMap module && PythonObjects.isModule(module)) {
                children.putIfAbsent(STATE_DICT, PythonObjects.stateDict(module));
            }
            if (!children.containsKey(segment)) {
                List<Found> others = withOtherPaths(state, path);
                if (others.size() == 1) {
                    return others.getFirst().value;
                }
                throw others.isEmpty()
                        ? missing(path, parent, segment, children.sequencedKeySet())
                        : ambiguous(path, others);
            }
            part = children.get(segment);
            parent = join(parent, segment);
        }
        return part;
    }

    private static List<Found> withOtherPaths(@Nullable Object state, String path) {
        // Of two tensors with the same name the second has another one than its path.
        Tensor tensor = StateIndex.of(state).tensors().get(path);
        if (tensor != null) {
            return List.of(new Found(path, tensor));
        }
        List<Found> found = new RawSearch(path).in(state);
        return found.isEmpty() ? new RawSearch(StateIndex.rawName(path)).in(state) : found;
    }

    private record Found(String path, @Nullable Object value) {}

    /// Looks for parts by keys as they are. A slash may be in a key or between two.
    private static final class RawSearch {
        private static final int ENOUGH = 4;

        private final String path;
        private final List<Found> found = new ArrayList<>();
        /// The positions in the path from which nothing was found in a container.
        private final IdentityHashMap<Object, BitSet> without = new IdentityHashMap<>();

        RawSearch(String path) {
            this.path = path;
        }

        List<Found> in(@Nullable Object state) {
            if (path.length() <= StateIndex.MAX_NAME) {
                search(state, "", 0, 0);
            }
            return found;
        }

        /// A state that holds itself has no end.
        private void search(@Nullable Object container, String there, int from, int depth) {
            if (container == null || depth > StateIndex.MAX_DEPTH
                    || without.computeIfAbsent(container, _ -> new BitSet()).get(from)) {
                return;
            }
            int before = found.size();
            for (Map.Entry<String, @Nullable Object> child : children(container).entrySet()) {
                String key = StateIndex.rawName(child.getKey());
                int end = from + key.length();
                if (found.size() < ENOUGH && path.startsWith(key, from)) {
                    if (end == path.length()) {
                        found.add(new Found(join(there, child.getKey()), child.getValue()));
                    } else if (path.charAt(end) == '/') {
                        search(child.getValue(), join(there, child.getKey()), end + 1, depth + 1);
                    }
                }
            }
            if (found.size() == before) {
                Objects.requireNonNull(without.get(container)).set(from);
            }
        }
    }

    private static NoSuchElementException ambiguous(String path, List<Found> found) {
        return new NoSuchElementException("the path " + FormatException.quote(path) + " may mean "
                + found.stream().limit(RawSearch.ENOUGH - 1)
                        .map(part -> "'" + FormatException.printable(part.path) + "'")
                        .collect(Collectors.joining(" or "))
                + (found.size() == RawSearch.ENOUGH ? " or others" : "") + "; name one of them as it is");
    }

    /// {@return the path of what is in a part}
    ///
    /// @param path the path of the part, empty for the whole state
    /// @param segment the last segment
    public static String join(String path, String segment) {
        return path.isEmpty() ? segment : path + "/" + segment;
    }

    /// {@return what is in a part, by the last segments of the paths}
    ///
    /// @param parent a value of the state
    static SequencedMap<String, @Nullable Object> children(@Nullable Object parent) {
        SequencedMap<String, @Nullable Object> children = new LinkedHashMap<>();
        SequencedSet<Typed> around = around(parent);
        Object inner = around.isEmpty() ? parent : around.getLast().value();
        if (inner instanceof Map<?, ?> map) {
            putAll(map, children);
        } else if (inner instanceof Collection<?> list) {
            list.forEach(element -> children.put(Integer.toString(children.size()), element));
        }
        if (inner instanceof TypedMap typed) {
            putAll(typed.attributes(), children);
        }
        around.reversed().forEach(typed -> putAll(typed.attributes(), children));
        return children;
    }

    /// The types around a value, from the outermost on. One that holds itself ends there.
    private static SequencedSet<Typed> around(@Nullable Object value) {
        SequencedSet<Typed> around = Collections.newSequencedSetFromMap(new LinkedHashMap<>());
        Object held = value;
        while (held instanceof Typed typed && around.add(typed)) {
            held = typed.value();
        }
        return around;
    }

    /// If two keys have the same segment, the first one keeps it.
    private static void putAll(Map<?, ?> map, Map<String, @Nullable Object> children) {
        map.forEach((key, value) -> {
            if (!children.containsKey(StateIndex.segment(key))) {
                children.put(StateIndex.segment(key), value);
            }
        });
    }

    private static NoSuchElementException missing(String path, String parent, String segment,
            Collection<String> there) {
        String where = parent.isEmpty() ? "the state" : FormatException.quote(parent);
        String nearest = there.stream().sorted(Comparator.comparingInt(name -> -common(name, segment)))
                .limit(MOST_NAMED).map(StateIndex::rawName).map(FormatException::quote)
                .collect(Collectors.joining(", "));
        String more = there.size() > MOST_NAMED ? " and " + (there.size() - MOST_NAMED) + " more" : "";
        return new NoSuchElementException("there is no part " + FormatException.quote(path) + "; " + where
                + (there.isEmpty() ? " has no parts" : " has " + nearest + more));
    }

    /// Returns the length of the common prefix of two names.
    private static int common(String one, String other) {
        int length = 0;
        while (length < Math.min(one.length(), other.length()) && one.charAt(length) == other.charAt(length)) {
            length++;
        }
        return length;
    }
}
