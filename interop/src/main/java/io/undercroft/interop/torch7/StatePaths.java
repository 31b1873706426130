package io.undercroft.interop.torch7;

import io.undercroft.serializer.state.StateIndex;
import org.jspecify.annotations.Nullable;

/// Paths of values, as [StateIndex] makes them.
final class StatePaths {
    private StatePaths() {}

    /// {@return what a key adds to a path}
    static String segment(@Nullable Object key) {
        return switch (key) {
            case String text -> StateIndex.escape(text);
            case Number number -> number.toString();
            case Boolean truth -> truth.toString();
            case null -> "null";
            default -> key.getClass().getSimpleName();
        };
    }
}
