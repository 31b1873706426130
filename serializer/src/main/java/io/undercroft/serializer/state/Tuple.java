package io.undercroft.serializer.state;

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// An immutable list that is loaded as an immutable list: Python's tuple. Elements may be null; a tuple is equal to any
/// list of equal elements, as `java.util.List` requires.
public final class Tuple extends AbstractList<@Nullable Object> {
    private final List<@Nullable Object> elements;

    /// A tuple of the given elements.
    ///
    /// @param elements copied
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

    /// As of any list, but without the iterators that a map would make garbage of for every key that it compares.
    @Override
    public boolean equals(@Nullable Object other) {
        return elements.equals(other instanceof Tuple tuple ? tuple.elements : other);
    }

    /// As of any list, see [#equals].
    @Override
    public int hashCode() {
        return elements.hashCode();
    }

    /// Makes a tuple that is there before its elements are: a reader needs it where an element refers back to the
    /// tuple.
    public static final class Builder {
        private final List<@Nullable Object> elements;
        private final Tuple tuple;

        /// A builder of a tuple that is still empty.
        public Builder() {
            this(0);
        }

        /// A builder of a tuple that is still empty.
        ///
        /// @param size how many elements will be added, if that is known
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

        /// {@return the tuple, always the same object; it must not be handed out before all elements are added}
        public Tuple tuple() {
            return tuple;
        }
    }
}
