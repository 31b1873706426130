package io.undercroft.serializer.spi;

import io.undercroft.format.FormatException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/// Where a walk through a state is, for messages: the keys and indices from the root on. Not thread-safe.
public final class StatePath {
    private final Deque<String> segments = new ArrayDeque<>();

    /// The root.
    public StatePath() {}

    /// {@return what messages call a place: `the state`, or `state/` and the path}
    ///
    /// @param path keys and indices joined by `/`; empty for the root
    public static String describe(String path) {
        return path.isEmpty() ? "the state" : FormatException.printable("state/" + path);
    }

    /// Enters a value of the container that this is at.
    ///
    /// @param key its key or index
    public void push(@Nullable Object key) {
        segments.addLast(String.valueOf(key));
    }

    /// Leaves it again.
    public void pop() {
        segments.removeLast();
    }

    /// {@return what messages call this place} See [#describe].
    @Override
    public String toString() {
        return describe(String.join("/", segments));
    }
}
