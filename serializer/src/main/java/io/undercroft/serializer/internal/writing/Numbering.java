package io.undercroft.serializer.internal.writing;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// Numbers objects from 0 in the order in which they first come.
///
/// @param <T> objects whose equality is identity
final class Numbering<T> {
    private final Map<T, Integer> numbers = new HashMap<>();
    private final List<T> inOrder = new ArrayList<>();

    Numbering(Collection<? extends T> objects) {
        for (T object : objects) {
            if (numbers.putIfAbsent(object, inOrder.size()) == null) {
                inOrder.add(object);
            }
        }
    }

    /// {@return the objects, each once}
    List<T> inOrder() {
        return Collections.unmodifiableList(inOrder);
    }

    /// {@return the number of an object}
    int of(T object) {
        Integer number = numbers.get(object);
        if (number == null) {
            throw new IllegalArgumentException(object + " was added to the state while it was being saved");
        }
        return number;
    }
}
