package io.undercroft.serializer.internal.graph;

import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import java.util.Collection;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// The names by which a node of a tree represents a Java object.
final class JavaNode {
    /// The prefix of the type of such a node; the name of a class follows.
    static final String PREFIX = "java:";
    /// The attribute with fields in bytes of Kryo, which is no longer written.
    static final String KRYO = "kryo";
    /// The attribute with the order of a sorted collection, if it is not the natural one, and its value.
    static final String ORDER = "order";
    static final String REVERSE = "reverse";
    /// The attribute with the name of the enum whose constants are the keys of a map or the elements of a set.
    static final String ENUM = "enum";

    private JavaNode() {}

    /// {@return the name of the class of the object that a node stands for, or null if it stands for itself}
    ///
    /// @param node a value of a tree
    static @Nullable String className(@Nullable Object node) {
        String type = switch (node) {
            case Typed typed -> typed.type();
            case TypedMap map -> map.type();
            case null, default -> "";
        };
        return type.startsWith(PREFIX) ? type.substring(PREFIX.length()) : null;
    }

    /// {@return whether a value of a tree has an identity, and may hold others}
    ///
    /// @param value a value of a tree
    static boolean isContainer(@Nullable Object value) {
        return value instanceof Map || value instanceof Collection || value instanceof Typed;
    }
}
