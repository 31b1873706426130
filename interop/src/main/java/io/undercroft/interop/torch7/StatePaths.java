package io.undercroft.interop.torch7;

import org.jspecify.annotations.Nullable;

/// Paths of values, as [io.undercroft.serializer.state.StateIndex] makes them.
final class StatePaths {
    private StatePaths() {}

    /// {@return what a key adds to a path}
    static String segment(@Nullable Object key) {
        return switch (key) {
            case String text -> text.replace("~", "~0").replace("/", "~1");
            case Number number -> number.toString();
            case Boolean truth -> truth.toString();
            case null -> "null";
            default -> key.getClass().getSimpleName();
        };
    }
}
