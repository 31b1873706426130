package io.undercroft.serializer.internal.tree;

import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Methods for keys of maps and elements of sets.
///
/// A key is hashed by its contents. Lists are not keys, as they may change. A tuple from a file may contain itself, or
/// share parts so often that its hash code could not be computed. So keys are plain values, and tuples of keys with at
/// most [#MAX_PARTS] parts in all.
public final class StateKeys {
    /// The maximum number of parts of a key; shared parts count repeatedly.
    public static final int MAX_PARTS = 1024;

    private StateKeys() {}

    /// {@return whether a value may be a key}
    ///
    /// @param value any value of a state
    public static boolean isKey(@Nullable Object value) {
        return partsLeft(value, MAX_PARTS) >= 0;
    }

    /// {@return the number of parts of a key, where shared parts count repeatedly; 1 for a plain value}
    ///
    /// @param key a value for which [#isKey] returns true
    public static int parts(@Nullable Object key) {
        return MAX_PARTS - partsLeft(key, MAX_PARTS);
    }

    /// Takes the parts of a value off a budget; below 0 when it is used up. Each level of the recursion takes one, too.
    private static int partsLeft(@Nullable Object value, int budget) {
        int left = budget - 1;
        if (value instanceof Tuple tuple) {
            for (int i = 0; i < tuple.size() && left >= 0; i++) {
                left = partsLeft(tuple.get(i), left);
            }
            return left;
        }
        boolean mutable = value instanceof Map || value instanceof List || value instanceof Set
                || value instanceof Typed;
        return mutable ? -1 : left;
    }
}
