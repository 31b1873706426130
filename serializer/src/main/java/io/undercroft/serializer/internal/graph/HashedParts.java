package io.undercroft.serializer.internal.graph;

import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.state.Typed;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// How much there is to hash in the keys of maps and the elements of sets of one state.
///
/// Java hashes collections, optionals and records by what they hold, counted again wherever it is shared. A list in a
/// file that holds the next one twice, and so on sixty times, would take years, and one that holds itself would never
/// end; so would many keys that hold the same long list take long, each by itself.
final class HashedParts {
    /// The most parts that a key may have.
    static final int MAX = 1 << 16;
    /// The most parts that all keys may have more than there are in the state: those that are counted again.
    static final int MAX_AGAIN = 1 << 24;

    private final StateClasses classes;
    private final Set<Object> counted = Collections.newSetFromMap(new IdentityHashMap<>());
    private long again;

    /// Nothing, so far.
    ///
    /// @param classes the registered classes
    HashedParts(StateClasses classes) {
        this.classes = classes;
    }

    /// Counts one more key.
    ///
    /// @param key a value of the tree
    /// @return how many parts it has; empty if more than [#MAX], or all so far have more than [#MAX_AGAIN] that were
    ///     counted before
    OptionalInt count(@Nullable Object key) {
        Deque<Object> left = new ArrayDeque<>();
        int parts = 0;
        Object next = JavaNode.isContainer(key) ? key : null;
        while (next != null) {
            Collection<? extends @Nullable Object> held = partsOf(next);
            parts = (int) Math.min((long) parts + held.size(), Integer.MAX_VALUE);
            again += counted.add(next) ? 0 : held.size();
            if (parts > MAX || again > MAX_AGAIN) {
                return OptionalInt.empty();
            }
            held.stream().filter(JavaNode::isContainer).forEach(left::push);
            next = left.poll();
        }
        return OptionalInt.of(parts);
    }

    /// Other objects than these have hashes of their own, arrays those of their identity.
    private Collection<? extends @Nullable Object> partsOf(Object node) {
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
