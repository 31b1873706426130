package io.undercroft.serializer.state;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Which values may be keys of maps and elements of sets.
///
/// A key is hashed by its contents. A list could change under the map; a tuple from a file could hold itself, or double
/// sixty times, and hashing it would never end. So keys are plain values, and tuples of keys up to [#MAX_PARTS] parts
/// in all.
public final class StateKeys {
    /// The most parts, counted again wherever they are shared, that a key may have.
    public static final int MAX_PARTS = 1024;

    private StateKeys() {}

    /// {@return whether a value may be a key}
    ///
    /// @param value any value of a state
    public static boolean isKey(@Nullable Object value) {
        return partsLeft(value, MAX_PARTS) >= 0;
    }

    /// {@return how many parts a key has, counted again wherever they are shared; 1 of a plain value}
    ///
    /// @param key a value of which [#isKey] holds
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
