package io.undercroft.serializer.state;

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// An immutable list, which is saved and opened as a tuple of Python. Elements may be null. A tuple is equal to any
/// list of equal elements, as `java.util.List` requires.
public final class Tuple extends AbstractList<@Nullable Object> {
    private final List<@Nullable Object> elements;

    /// Creates a tuple of the given elements.
    ///
    /// @param elements the elements, which are copied
    public Tuple(Collection<? extends @Nullable Object> elements) {
        Objects.requireNonNull(elements, "elements");
        this.elements = new ArrayList<>(elements);
    }

    private Tuple(Builder builder) {
        this.elements = builder.elements;
    }

    /// {@return a tuple of the given elements}
    ///
    /// @param elements in order
    public static Tuple of(@Nullable Object... elements) {
        Objects.requireNonNull(elements, "elements");
        return new Tuple(Arrays.asList(elements));
    }

    @Override
    public @Nullable Object get(int index) {
        return elements.get(index);
    }

    @Override
    public int size() {
        return elements.size();
    }

    /// Compares as any list does, but without iterators, as maps compare keys often.
    @Override
    public boolean equals(@Nullable Object other) {
        return elements.equals(other instanceof Tuple tuple ? tuple.elements : other);
    }

    /// Returns the hash code of a list; see [#equals].
    @Override
    public int hashCode() {
        return elements.hashCode();
    }

    /// Builds a tuple that exists before its elements, for readers of tuples that contain references to themselves.
    public static final class Builder {
        private final List<@Nullable Object> elements;
        private final Tuple tuple;

        /// Creates a builder of an empty tuple.
        public Builder() {
            this(0);
        }

        /// Creates a builder of an empty tuple.
        ///
        /// @param size the expected number of elements
        public Builder(int size) {
            this.elements = new ArrayList<>(size);
            this.tuple = new Tuple(this);
        }

        /// Adds an element at the end.
        ///
        /// @param element the element
        public void add(@Nullable Object element) {
            elements.add(element);
        }

        /// {@return the tuple, which is the same object for each call and must not be used before all elements are
        /// added}
        public Tuple tuple() {
            return tuple;
        }
    }
}
