package io.undercroft.serializer.internal.analysis;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StatePart;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// The differences between the values of two states that are not tensors, found by their paths: numbers, texts and so
/// on, and lists of them. Types of containers, attributes and the fields of a pickled module are not compared. Two NaNs
/// are equal, and so are an integer and a floating-point number of the same value, as some formats have no integers.
public final class ValueDiff {
    /// The number of values that are compared: states that share containers may have many more paths than values.
    private static final long MOST_COMPARED = 10_000_000;
    private static final int MOST_LISTED = 10_000;
    /// A container is taken to have no values if none is among the first ones.
    private static final int MOST_SEARCHED = 1000;

    private final boolean listsThoseOfA;
    private final boolean listsThoseOfB;
    private final List<Difference> differences = new ArrayList<>();
    private final Set<Pair> seen = new HashSet<>();
    private long omitted;
    private long left = MOST_COMPARED;

    /// A value that differs.
    ///
    /// @param path its path in both files
    /// @param a the value of the first file; null if it has none
    /// @param b the value of the second file; null if it has none
    public record Difference(String path, @Nullable StatePart a, @Nullable StatePart b) {}

    /// Two containers with the same path.
    private record Pair(Object a, Object b) {
        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Pair pair && pair.a == a && pair.b == b;
        }

        @Override
        public int hashCode() {
            return 31 * System.identityHashCode(a) + System.identityHashCode(b);
        }
    }

    /// Compares. Values that only one file has are differences if the format of the other one keeps values.
    ///
    /// @param a the first file
    /// @param b the second file
    ValueDiff(Checkpoint a, Checkpoint b) {
        this.listsThoseOfA = keepsValues(b);
        this.listsThoseOfB = keepsValues(a);
        compare(new StatePart("", a.tree()), new StatePart("", b.tree()), 0);
        seen.clear();
    }

    private static boolean keepsValues(Checkpoint checkpoint) {
        return Checkpoint.formats().stream().filter(format -> format.name().equals(checkpoint.format()))
                .anyMatch(format -> format.capabilities().contains(Capability.STATE));
    }

    /// {@return the values that differ, in the order of the first file}
    public List<Difference> differences() {
        return differences;
    }

    /// {@return how many more values differ}
    public long omitted() {
        return omitted;
    }

    /// {@return how many values differ, listed or not}
    public long count() {
        return differences.size() + omitted;
    }

    /// {@return whether all values were compared; they are not if there are more than ten million}
    public boolean isComplete() {
        return left > 0;
    }

    private void compare(StatePart a, StatePart b, int depth) {
        Object ours = StateIndex.held(a.value());
        Object theirs = StateIndex.held(b.value());
        if (isScalar(ours) && isScalar(theirs)) {
            left--;
            if (!areEqual(ours, theirs)) {
                add(a, b);
            }
        } else if (ours instanceof Collection<?> one && theirs instanceof Collection<?> other && isPlain(one)
                && isPlain(other)) {
            if (!areEqual(one, other)) {
                add(a, b);
            }
        } else if (isContainer(ours) && isContainer(theirs)) {
            if (depth < StateIndex.MAX_DEPTH
                    && seen.add(new Pair(Objects.requireNonNull(ours), Objects.requireNonNull(theirs)))) {
                compareParts(a, b, depth);
            }
        } else {
            add(hasValues(a) ? a : null, hasValues(b) ? b : null);
        }
    }

    private void compareParts(StatePart a, StatePart b, int depth) {
        Map<String, StatePart> others = new LinkedHashMap<>();
        b.elements().takeWhile(_ -> left-- > 0).forEach(part -> others.putIfAbsent(part.path(), part));
        a.elements().takeWhile(_ -> left-- > 0).forEach(part -> {
            StatePart other = others.remove(part.path());
            if (other != null) {
                compare(part, other, depth + 1);
            } else if (hasValues(part)) {
                add(part, null);
            }
        });
        others.values().stream().filter(this::hasValues).forEach(part -> add(null, part));
    }

    private void add(@Nullable StatePart a, @Nullable StatePart b) {
        StatePart some = a != null ? a : b;
        if (some == null || (b == null && !listsThoseOfA) || (a == null && !listsThoseOfB)) {
            return;
        }
        if (differences.size() < MOST_LISTED) {
            differences.add(new Difference(some.path(), a, b));
        } else {
            omitted++;
        }
    }

    private static boolean isScalar(@Nullable Object value) {
        return new StatePart("", value).isScalar();
    }

    private static boolean isContainer(@Nullable Object value) {
        return (value instanceof Map || value instanceof Collection) && !PythonObjects.isModule(value);
    }

    private boolean hasValues(StatePart part) {
        left--;
        Object value = StateIndex.held(part.value());
        return isScalar(value) || (isContainer(value) && !StatePart.scalars(value, MOST_SEARCHED).isEmpty());
    }

    /// Returns whether all elements are scalars.
    private boolean isPlain(Collection<?> elements) {
        left -= elements.size();
        return left > 0 && elements.stream().allMatch(ValueDiff::isScalar);
    }

    private static boolean areEqual(Collection<?> ours, Collection<?> theirs) {
        if (ours instanceof Set<?> one && theirs instanceof Set<?> other) {
            return one.equals(other);
        }
        Iterator<?> others = theirs.iterator();
        return ours.size() == theirs.size() && ours.stream().allMatch(each -> areEqual(each, others.next()));
    }

    private static boolean areEqual(@Nullable Object one, @Nullable Object other) {
        return Objects.equals(one, other)
                || (one instanceof byte[] bytes && other instanceof byte[] others && Arrays.equals(bytes, others))
                || (one instanceof Number number && other instanceof Number another && isFinite(number)
                        && isFinite(another) && decimal(number).compareTo(decimal(another)) == 0);
    }

    private static boolean isFinite(Number number) {
        return number instanceof BigInteger || Double.isFinite(number.doubleValue());
    }

    private static BigDecimal decimal(Number number) {
        return new BigDecimal(number.toString());
    }
}
