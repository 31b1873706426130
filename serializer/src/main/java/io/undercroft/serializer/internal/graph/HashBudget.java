package io.undercroft.serializer.internal.graph;

import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.internal.tree.JavaNode;
import io.undercroft.serializer.internal.tree.StateKeys;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/// A limit on the work of hashing and comparing the keys of all maps and the elements of all sets of one state.
///
/// The cost of a key is the number of its parts, shared parts counted each time, and a key is compared with all keys of
/// the same hash.
/// A list in a file that holds the next one twice, and so on sixty times, would take years, one that holds itself would
/// never end, and a map of 20 000 keys of one hash compares 200 million times. Such a state is refused before any of
/// the keys is hashed into a map, and is not saved either.
public final class HashBudget {
    /// The most parts that are hashed and compared, in addition to [#PER_KEY] for each key.
    private static final long MAX = 1L << 24;
    /// The most parts that one key may have.
    static final int MAX_PARTS = 1 << 16;
    /// Keys with this number of parts are not unusual, for instance pairs of small numbers.
    private static final int PER_KEY = 128;
    /// Maps keep keys of equal hashes sorted if all are of one such class.
    private static final Set<Class<?>> SORTED = Set.of(String.class, Long.class, Double.class, BigInteger.class,
            Integer.class, Short.class, Byte.class, Float.class);

    private long left = MAX;

    /// The problems of keys.
    public enum Wrong {
        /// One is no plain value, and no tuple of some.
        NO_KEY,
        /// They would take too long to hash and to compare.
        TOO_MUCH,
        /// Two are one in a file, for instance numbers of different widths.
        TWICE
    }

    /// Takes the keys of one map or the elements of one set of the tree, which are plain values.
    ///
    /// @param keys none of which were hashed
    /// @return the problem of these keys, together with those that were added before; nothing if all are valid. Of keys
    ///     of one class those that come twice are not found
    public Optional<Wrong> check(List<? extends @Nullable Object> keys) {
        if (areSorted(keys)) {
            return Optional.empty();
        }
        if (keys.size() == 1) {
            Object key = keys.getFirst();
            if (!StateKeys.isKey(key)) {
                return Optional.of(Wrong.NO_KEY);
            }
            take(StateKeys.parts(key), 1);
            return left < 0 ? Optional.of(Wrong.TOO_MUCH) : Optional.empty();
        }
        Map<Integer, Integer> equal = HashMap.newHashMap(keys.size());
        for (Object key : keys) {
            if (!StateKeys.isKey(key)) {
                return Optional.of(Wrong.NO_KEY);
            }
            take(StateKeys.parts(key), equal.merge(Objects.hashCode(key), 1, Integer::sum));
            // Before the next key is looked at, as a short file can hold very many.
            if (left < 0) {
                return Optional.of(Wrong.TOO_MUCH);
            }
        }
        IdentityHashMap<Tuple, Object> known = new IdentityHashMap<>();
        List<@Nullable Object> identities = new ArrayList<>(keys);
        identities.replaceAll(key -> identity(key, known));
        if (isTooMuch(identities, i -> StateKeys.parts(keys.get(i)))) {
            return Optional.of(Wrong.TOO_MUCH);
        }
        return new HashSet<>(identities).size() < keys.size() ? Optional.of(Wrong.TWICE) : Optional.empty();
    }

    /// {@return a value that is equal for keys that are the same key in a file} Numbers are compared by value, whatever
    /// their width: the `Integer` 1 and the `Long` 1 are one key, although Java has two.
    ///
    /// @param key a value of which [StateKeys#isKey] holds
    public static @Nullable Object identity(@Nullable Object key) {
        return identity(key, new IdentityHashMap<>());
    }

    /// Returns the identity of a key.
    ///
    /// @param known the identities of tuples so far: many keys may share one tuple, which is then converted once
    private static @Nullable Object identity(@Nullable Object key, IdentityHashMap<Tuple, Object> known) {
        return switch (key) {
            case Integer number -> number.longValue();
            case Short number -> number.longValue();
            case Byte number -> number.longValue();
            case BigInteger big when big.bitLength() < Long.SIZE -> big.longValue();
            case Float real -> real.doubleValue();
            case Tuple tuple -> {
                Object list = known.get(tuple);
                if (list == null) {
                    list = tuple.stream().map(part -> identity(part, known)).toList();
                    known.put(tuple, list);
                }
                yield list;
            }
            case null, default -> key;
        };
    }

    /// {@return whether all keys are of one class whose equal hashes cost nothing, and which differ in a file if they
    /// differ in Java}
    ///
    /// @param keys any keys
    private static boolean areSorted(List<? extends @Nullable Object> keys) {
        Object first = keys.isEmpty() ? "" : keys.getFirst();
        if (first == null || !SORTED.contains(first.getClass())) {
            return false;
        }
        // No stream, which is an object for each of the small maps of a file.
        for (Object key : keys) {
            if (key == null || key.getClass() != first.getClass()) {
                return false;
            }
        }
        return true;
    }

    private boolean isTooMuch(List<? extends @Nullable Object> keys, IntUnaryOperator parts) {
        return !areSorted(keys) && isTooMuch(keys.size(), i -> Objects.hashCode(keys.get(i)), parts);
    }

    /// Takes the keys of one map or the elements of one set that may be objects.
    ///
    /// @param keys of the program
    /// @param nodes the same keys in the tree
    /// @param isSorted whether the map or set compares them by their order and not by their hashes
    /// @param classes the registered classes
    /// @return whether that is too much, together with what was taken before
    boolean isTooMuch(List<? extends @Nullable Object> keys, List<? extends @Nullable Object> nodes, boolean isSorted,
            StateClasses classes) {
        IntUnaryOperator parts = i -> partsOf(nodes.get(i), classes);
        return isSorted ? isTooMuch(keys.size(), i -> i, parts) : isTooMuch(keys, parts);
    }

    private boolean isTooMuch(int keys, IntUnaryOperator hash, IntUnaryOperator parts) {
        Map<Integer, Integer> equal = HashMap.newHashMap(keys);
        for (int i = 0; i < keys && left >= 0; i++) {
            int count = parts.applyAsInt(i);
            take(count, count > MAX_PARTS ? 0 : equal.merge(hash.applyAsInt(i), 1, Integer::sum));
        }
        return left < 0;
    }

    /// Takes a key.
    ///
    /// @param parts the number of parts that it has
    /// @param comparisons with how many keys it is compared, itself included
    private void take(int parts, int comparisons) {
        left = parts > MAX_PARTS ? -1 : left + PER_KEY - (long) comparisons * Math.max(1, parts);
    }

    /// Returns how many parts a key has; more than [#MAX_PARTS] if it holds itself.
    private static int partsOf(@Nullable Object key, StateClasses classes) {
        Deque<Object> open = new ArrayDeque<>();
        int parts = 0;
        Object next = JavaNode.isContainer(key) ? key : null;
        while (next != null) {
            Collection<? extends @Nullable Object> held = hashedParts(next, classes);
            parts = (int) Math.min((long) parts + held.size(), Integer.MAX_VALUE);
            if (parts > MAX_PARTS) {
                break;
            }
            held.stream().filter(JavaNode::isContainer).forEach(open::push);
            next = open.poll();
        }
        return parts;
    }

    /// The hash codes of other objects are defined by their classes; arrays have identity hash codes.
    private static Collection<? extends @Nullable Object> hashedParts(Object node, StateClasses classes) {
        String name = JavaNode.className(node);
        boolean isOther = name != null
                && (name.endsWith("[]") || classes.type(name).filter(type -> !type.isRecord()).isPresent());
        return switch (node) {
            case Object _ when isOther -> List.of();
            case Map<?, ?> map -> map.values();
            case Collection<?> elements -> elements;
            case Typed typed when name != null && typed.value() instanceof Collection<?> elements -> elements;
            default -> List.of();
        };
    }
}
