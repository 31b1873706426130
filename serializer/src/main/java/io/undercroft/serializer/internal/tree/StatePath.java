package io.undercroft.serializer.internal.tree;

import io.undercroft.format.FormatException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// The position of a walk through a state, for messages: the keys and indices from the root on. Not thread-safe.
public final class StatePath {
    /// A longer path, in characters, is shown by its start and its end.
    private static final int LONGEST = 200;
    private static final int SHOWN = 80;

    /// Keys become texts in a message only, as those of large numbers and tuples take long.
    private final Deque<Object> segments = new ArrayDeque<>();

    /// The root.
    public StatePath() {}

    /// {@return what messages call a place: `the state`, or `the value at` and the quoted, [shortened][#shortened]
    /// path}
    ///
    /// @param path keys and indices joined by `/`; empty for the root
    public static String describe(String path) {
        return path.isEmpty() ? "the state" : "the value at '" + FormatException.printable(shortened(path)) + "'";
    }

    /// {@return a path for a message, with `…` for the middle of one of more than 200 characters, as in linked lists}
    ///
    /// @param path keys and indices joined by `/`
    public static String shortened(String path) {
        return path.length() <= LONGEST
                ? path
                : path.substring(0, path.offsetByCodePoints(0, SHOWN)) + "…"
                        + path.substring(path.offsetByCodePoints(path.length(), -SHOWN));
    }

    /// Enters a value of the container that this is at.
    ///
    /// @param key its key or index
    public void push(@Nullable Object key) {
        segments.addLast(key == null ? "null" : key);
    }

    /// Leaves it again.
    public void pop() {
        segments.removeLast();
    }

    /// {@return this place as [StatePart][io.undercroft.serializer.internal.tree.StatePart] has it: keys and indices,
    /// escaped and joined by `/`}
    public String path() {
        return segments.stream().map(StateIndex::segment).collect(Collectors.joining("/"));
    }

    /// {@return what messages call this place} See [#describe].
    @Override
    public String toString() {
        return describe(segments.stream().map(key -> StateKeys.isKey(key) ? key.toString() : "…")
                .collect(Collectors.joining("/")));
    }
}
