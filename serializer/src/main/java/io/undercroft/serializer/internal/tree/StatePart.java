package io.undercroft.serializer.internal.tree;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedSet;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// A value of a state and its path, as [StateIndex] names tensors: keys and positions, escaped and joined by `/`. The
/// entries of `state_dict()` of a PyTorch module are a part of the module, whose last segment is `state_dict`.
///
/// @param path the path; empty for the whole state
/// @param value a container, a tensor, a number, a text, or any other value
public record StatePart(String path, @Nullable Object value) {
    /// The last segment of the path of the `state_dict()` of a module.
    public static final String STATE_DICT = "state_dict";

    private static final int MOST_NAMED = 8;
    /// The maximum number of keys that are compared for a message.
    private static final int MOST_COMPARED = 20_000;
    /// The digits of the largest position.
    private static final int LONGEST_POSITION = 10;

    /// {@return the value of a state that has a path}
    ///
    /// @param state the root of the tree
    /// @param path the path, for instance `model` or `optimizer/param_groups/0/lr`; or the keys and positions without
    ///     escapes, joined by `/`, if only one value has that path
    /// @throws NoSuchElementException if no value or several values have that path; the message lists existing paths
    public static @Nullable Object at(@Nullable Object state, String path) {
        Optional<StatePart> found = find(state, path);
        if (found.isEmpty()) {
            throw missing(state, path);
        }
        return found.get().value;
    }

    /// {@return the part of a state that has a path, as for [#at]}
    ///
    /// @param state the root of the tree
    /// @param path the path
    /// @throws NoSuchElementException if several parts have that path
    public static Optional<StatePart> find(@Nullable Object state, String path) {
        StatePart part = new StatePart("", state);
        for (String segment : path.split("/", -1)) {
            part = part == null ? null : part.child(segment);
        }
        if (part != null) {
            return Optional.of(part);
        }
        // Of two tensors with the same name the second has another one than its path.
        Tensor tensor = StateIndex.of(state).tensors().get(path);
        if (tensor != null) {
            return Optional.of(new StatePart(path, tensor));
        }
        List<StatePart> found = new RawSearch(path).in(state);
        found = found.isEmpty() ? new RawSearch(StateIndex.rawName(path)).in(state) : found;
        if (found.size() > 1) {
            throw ambiguous(path, found);
        }
        return found.stream().findFirst();
    }

    /// {@return the parts of this value: the values of a map, the elements of a list or set, then the attributes; none
    /// of any other value} The stream is lazy.
    public Stream<StatePart> children() {
        return parts(withAttributes(value));
    }

    /// {@return the parts of this value, as [#children], without attributes}
    public Stream<StatePart> elements() {
        return parts(entries(StateIndex.held(value)));
    }

    private Stream<StatePart> parts(Stream<Entry> entries) {
        return entries.map(entry -> new StatePart(join(path, StateIndex.segment(entry.key)), entry.value));
    }

    /// {@return whether the value is a number, a text, a truth value, null or another value that is neither a
    /// container, tensor nor storage}
    public boolean isScalar() {
        return !(value instanceof Map || value instanceof Collection || value instanceof Typed
                || value instanceof Tensor || value instanceof Storage || value instanceof TypedStorage);
    }

    /// {@return the scalars of a state in its order, without attributes; those of a container only at its first place}
    ///
    /// @param state the root of the tree
    /// @param most the maximum number of values that are visited
    public static List<StatePart> scalars(@Nullable Object state, int most) {
        List<StatePart> found = new ArrayList<>();
        new StatePart("", state).collect(found, 0, new int[]{most}, Collections.newSetFromMap(new IdentityHashMap<>()));
        return found;
    }

    private void collect(List<StatePart> found, int depth, int[] left, Set<Object> seen) {
        if (isScalar()) {
            found.add(this);
        } else if (depth < StateIndex.MAX_DEPTH && seen.add(Objects.requireNonNull(value))) {
            elements().takeWhile(_ -> left[0]-- > 0)
                    .forEach(child -> child.collect(found, depth + 1, left, seen));
        }
    }

    /// {@return the path of a value in a part}
    ///
    /// @param path the path of the part, empty for the whole state
    /// @param segment the last segment
    public static String join(String path, String segment) {
        return path.isEmpty() ? segment : path + "/" + segment;
    }

    /// If two keys have the same segment, the first one keeps it.
    private @Nullable StatePart child(String segment) {
        if (StateIndex.held(value) instanceof List<?> list && isPosition(segment)) {
            long position = Long.parseLong(segment);
            return position < list.size() ? new StatePart(join(path, segment), list.get((int) position)) : null;
        }
        return withAttributes(value).filter(entry -> isAt(entry.key, segment)).findFirst()
                .map(entry -> new StatePart(join(path, segment), entry.value)).or(() -> stateDict(segment))
                .orElse(null);
    }

    private Optional<StatePart> stateDict(String segment) {
        return segment.equals(STATE_DICT) && value instanceof TypedMap module && PythonObjects.isModule(module)
                ? Optional.of(new StatePart(join(path, segment), PythonObjects.stateDict(module)))
                : Optional.empty();
    }

    private static boolean isAt(@Nullable Object key, String segment) {
        boolean isLonger = key instanceof String text && text.length() > segment.length();
        return !isLonger && StateIndex.segment(key).equals(segment);
    }

    private static boolean isPosition(String segment) {
        boolean isShort = !segment.isEmpty() && segment.length() <= LONGEST_POSITION;
        return isShort && segment.chars().allMatch(digit -> digit >= '0' && digit <= '9')
                && (segment.length() == 1 || segment.charAt(0) != '0');
    }

    private record Entry(@Nullable Object key, @Nullable Object value) {}

    private static Stream<Entry> withAttributes(@Nullable Object parent) {
        Object held = StateIndex.held(parent);
        Stream<Entry> own = held instanceof TypedMap map ? of(map.attributes()) : Stream.empty();
        return Stream
                .of(entries(held), own, around(parent).reversed().stream().flatMap(typed -> of(typed.attributes())))
                .flatMap(Function.identity());
    }

    private static Stream<Entry> entries(@Nullable Object held) {
        // No pattern switch: docs/decisions/0065.
        if (held instanceof Map<?, ?> map) {
            return of(map);
        }
        int[] next = {0};
        return held instanceof Collection<?> elements
                ? elements.stream().map(element -> new Entry(next[0]++, element))
                : Stream.empty();
    }

    private static Stream<Entry> of(Map<?, ?> map) {
        return map.entrySet().stream().map(entry -> new Entry(entry.getKey(), entry.getValue()));
    }

    /// The types around a value, from the outermost on. One that holds itself ends there.
    private static SequencedSet<Typed> around(@Nullable Object value) {
        SequencedSet<Typed> around = new LinkedHashSet<>();
        Object held = value;
        while (held instanceof Typed typed && around.add(typed)) {
            held = typed.value();
        }
        return around;
    }

    /// Looks for parts by unescaped keys. A slash may be in a key or between two.
    private static final class RawSearch {
        private static final int ENOUGH = 4;

        private final String path;
        private final List<StatePart> found = new ArrayList<>();
        /// The positions in the path from which nothing was found in a container.
        private final IdentityHashMap<Object, BitSet> without = new IdentityHashMap<>();

        RawSearch(String path) {
            this.path = path;
        }

        List<StatePart> in(@Nullable Object state) {
            if (path.length() <= StateIndex.MAX_NAME) {
                search(new StatePart("", state), 0, 0);
            }
            return found;
        }

        /// A state that holds itself has no end.
        private void search(StatePart container, int from, int depth) {
            if (container.value == null || depth > StateIndex.MAX_DEPTH
                    || without.computeIfAbsent(container.value, _ -> new BitSet()).get(from)) {
                return;
            }
            int before = found.size();
            withAttributes(container.value).takeWhile(_ -> found.size() < ENOUGH).forEach(entry -> {
                String segment = StateIndex.segment(entry.key);
                String key = StateIndex.rawName(segment);
                int end = from + key.length();
                if (path.startsWith(key, from) && (end == path.length() || path.charAt(end) == '/')) {
                    StatePart part = new StatePart(join(container.path, segment), entry.value);
                    if (end == path.length()) {
                        found.add(part);
                    } else {
                        search(part, end + 1, depth + 1);
                    }
                }
            });
            if (found.size() == before) {
                Objects.requireNonNull(without.get(container.value)).set(from);
            }
        }
    }

    private static NoSuchElementException ambiguous(String path, List<StatePart> found) {
        return new NoSuchElementException("the path " + FormatException.quote(path) + " may mean "
                + found.stream().limit(RawSearch.ENOUGH - 1)
                        .map(part -> "'" + FormatException.printable(part.path) + "'")
                        .collect(Collectors.joining(" or "))
                + (found.size() == RawSearch.ENOUGH ? " or others" : "") + "; name one of them as it is");
    }

    private static NoSuchElementException missing(@Nullable Object state, String path) {
        StatePart last = new StatePart("", state);
        String segment = "";
        Deque<String> segments = new ArrayDeque<>(List.of(path.split("/", -1)));
        for (StatePart part = last; part != null; part = part.child(segment)) {
            last = part;
            segment = segments.removeFirst();
        }
        String wanted = segment;
        List<String> names = last.children().limit(MOST_COMPARED)
                .map(part -> part.path.substring(part.path.lastIndexOf('/') + 1)).toList();
        String nearest = names.stream().sorted(Comparator.comparingInt(name -> -common(name, wanted)))
                .limit(MOST_NAMED).map(StateIndex::rawName).map(FormatException::quote)
                .collect(Collectors.joining(", "));
        String containing = StateIndex.of(state).tensors().keySet().stream().filter(name -> name.contains(path))
                .limit(MOST_NAMED).map(FormatException::quote).collect(Collectors.joining(", "));
        String more = names.size() > MOST_NAMED ? " and " + (names.size() - MOST_NAMED) + " more" : "";
        return new NoSuchElementException("there is no part " + FormatException.quote(path) + "; "
                + (last.path.isEmpty() ? "the state" : FormatException.quote(last.path))
                + (names.isEmpty() ? " has no parts" : " has " + nearest + more)
                + (containing.isEmpty() ? "" : "; names that contain it: " + containing));
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
