package io.undercroft.serializer.internal.graph;

import java.math.BigInteger;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/// How much work it is to tell the keys of all maps and the elements of all sets of one state apart.
///
/// A key is hashed, and compared with those that have the same hash. A file can choose keys that all have the same one:
/// a map of 20 000 of them compares 200 million times, and each comparison may go through a thousand parts. Such a
/// state is refused before any of its keys is hashed into a map.
public final class KeyWork {
    /// The most parts that are hashed and compared, besides [#PER_KEY] for each key.
    public static final long MAX = 1L << 24;
    /// So many parts are nothing unusual, for instance of pairs of small numbers.
    private static final int PER_KEY = 128;
    /// Maps keep those that have the same hash in a tree, if all are of one such class.
    private static final Set<Class<?>> SORTED = Set.of(String.class, Long.class, Double.class, BigInteger.class,
            Integer.class, Short.class, Byte.class, Float.class);

    private long left = MAX;

    /// No work, so far.
    public KeyWork() {}

    /// Counts the keys of one map or the elements of one set that hashes them.
    ///
    /// @param keys which must not hold themselves
    /// @param parts how many parts the key of an index has, counted again wherever they are shared; not asked for all
    ///     keys if that is too much
    /// @return whether that is too much, together with what was counted before
    public boolean isTooMuch(List<? extends @Nullable Object> keys, IntUnaryOperator parts) {
        return !areSorted(keys) && isTooMuch(keys, parts, Objects::hashCode);
    }

    /// Counts the elements of one set that compares each with all others.
    ///
    /// @param elements the elements
    /// @param parts how many parts the element of an index has
    /// @return whether that is too much, together with what was counted before
    boolean isTooMuchWithoutHashes(List<? extends @Nullable Object> elements, IntUnaryOperator parts) {
        return isTooMuch(elements, parts, _ -> 0);
    }

    /// {@return whether all keys are of one class whose equal hashes cost nothing, and which differ in a file if they
    /// differ in Java}
    ///
    /// @param keys any keys
    public static boolean areSorted(List<? extends @Nullable Object> keys) {
        Object first = keys.isEmpty() ? "" : keys.getFirst();
        return first != null && SORTED.contains(first.getClass())
                && keys.stream().allMatch(key -> key != null && key.getClass() == first.getClass());
    }

    private boolean isTooMuch(List<? extends @Nullable Object> keys, IntUnaryOperator parts,
            ToIntFunction<@Nullable Object> hash) {
        Map<Integer, Integer> equal = HashMap.newHashMap(keys.size());
        for (int i = 0; i < keys.size() && left >= 0; i++) {
            int count = Math.max(1, parts.applyAsInt(i));
            int comparisons = equal.merge(hash.applyAsInt(keys.get(i)), 1, Integer::sum);
            left += PER_KEY - (long) comparisons * count;
        }
        return left < 0;
    }
}
