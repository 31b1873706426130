package io.undercroft.serializer.internal.tree;

import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Counts the long texts and byte arrays of a state that a file without references to them holds once for each of their
/// places. One string in memory can be at so many places that such a file would fill the disk. Belongs to one thread.
public final class RepeatedTexts {
    /// The maximum number of characters and bytes that are repeated.
    private static final long MOST = 64L << 20;
    /// Shorter values, in characters or bytes, may come any number of times.
    private static final int LONG = 64;

    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private long repeated;

    /// A counter that has seen no text.
    public RepeatedTexts() {}

    /// Counts those of a state, each container once.
    ///
    /// @param state the root of the tree, whose containers are nested as deep as an index of the state lets them
    /// @throws IllegalArgumentException if a file would repeat too much; the message has the path
    public static void check(@Nullable Object state) {
        Walk walk = new Walk();
        try {
            walk.add(state);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("cannot save " + walk.path + ": " + e.getMessage(), e);
        }
    }

    /// Recursion is safe, as the depth was checked.
    private static final class Walk {
        private final RepeatedTexts texts = new RepeatedTexts();
        private final Set<Object> containers = Collections.newSetFromMap(new IdentityHashMap<>());
        private final StatePath path = new StatePath();

        void add(@Nullable Object value) {
            switch (value) {
                case String text -> texts.add(text);
                case byte[] bytes -> texts.add(bytes);
                case TypedMap map when containers.add(map) -> {
                    addEntries(map);
                    addEntries(map.attributes());
                }
                case Typed typed when containers.add(typed) -> {
                    add(typed.value());
                    addEntries(typed.attributes());
                }
                case Map<?, ?> map when !(map instanceof TypedMap) && containers.add(map) -> addEntries(map);
                case Collection<?> elements when containers.add(elements) -> {
                    int index = 0;
                    for (Object element : elements) {
                        addAt(index++, element);
                    }
                }
                case null, default -> {
                    // Holds no text, or is known.
                }
            }
        }

        private void addEntries(Map<?, ?> entries) {
            entries.forEach((key, value) -> {
                addAt(key, key);
                addAt(key, value);
            });
        }

        private void addAt(@Nullable Object key, @Nullable Object value) {
            path.push(key);
            add(value);
            path.pop();
        }
    }

    /// Counts a text, by identity.
    ///
    /// @param text the text at its next place
    /// @throws IllegalArgumentException if the file would repeat too much; the message has no path
    public void add(String text) {
        add(text, text.length(), "characters");
    }

    /// Counts a byte array, by identity.
    ///
    /// @param bytes the bytes at their next place
    /// @throws IllegalArgumentException if the file would repeat too much; the message has no path
    public void add(byte[] bytes) {
        add(bytes, bytes.length, "bytes");
    }

    private void add(Object value, int length, String unit) {
        if (length < LONG || seen.add(value)) {
            return;
        }
        repeated += length;
        if (repeated > MOST) {
            throw new IllegalArgumentException("values such as this one of " + length + " " + unit
                    + " are in so many places that the file would repeat more than " + (MOST >> 20)
                    + " MiB; keep each once, in a list, and refer to it by its number");
        }
    }
}
