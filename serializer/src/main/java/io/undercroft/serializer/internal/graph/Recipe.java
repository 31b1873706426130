package io.undercroft.serializer.internal.graph;

import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/// The way to make an object from a node of a tree.
///
/// @param when the values that must exist before the object is finished
/// @param parts the values of the tree that the object holds
/// @param early the object, still empty; null if there is none before its parts
/// @param finish fills the early object with what its parts became and returns it, or makes the late one
record Recipe(When when, List<? extends @Nullable Object> parts, @Nullable Object early,
        Function<List<@Nullable Object>, Object> finish) {

    /// The values that must exist before an object is finished.
    enum When {
        /// Its parts, perhaps unfilled.
        PARTS,
        /// Its parts with all that they hold, as far as it is possible: they are compared, or found by their contents.
        CONTENTS
    }

    /// {@return a recipe for an object that can be there before its parts, so that they can refer to it}
    ///
    /// @param parts the values of the tree that it holds
    /// @param object it, still empty
    /// @param fill puts into it what the parts became
    static <T> Recipe early(List<? extends @Nullable Object> parts, T object,
            BiConsumer<T, List<@Nullable Object>> fill) {
        return early(When.PARTS, parts, object, fill);
    }

    /// {@return a recipe for such an object, whose parts must be filled before, since it reads their contents}
    ///
    /// @param parts the values of the tree that it holds
    /// @param object it, still empty
    /// @param fill puts into it what the parts became
    static <T> Recipe ofContents(List<? extends @Nullable Object> parts, T object,
            BiConsumer<T, List<@Nullable Object>> fill) {
        return early(When.CONTENTS, parts, object, fill);
    }

    private static <T> Recipe early(When when, List<? extends @Nullable Object> parts, T object,
            BiConsumer<T, List<@Nullable Object>> fill) {
        return new Recipe(when, parts, object, values -> {
            fill.accept(object, values);
            return object;
        });
    }

    /// {@return a recipe for an object that cannot be there before its parts}
    ///
    /// @param parts the values of the tree that it holds
    /// @param make makes it of what the parts became
    static Recipe late(List<? extends @Nullable Object> parts, Function<List<@Nullable Object>, Object> make) {
        return new Recipe(When.PARTS, parts, null, make);
    }
}
