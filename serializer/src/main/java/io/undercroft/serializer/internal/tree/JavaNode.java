package io.undercroft.serializer.internal.tree;

import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import java.util.Collection;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// The names by which a node of a tree represents a Java object.
public final class JavaNode {
    /// The prefix of the type of such a node; the name of a class follows.
    public static final String PREFIX = "java:";
    /// The attribute with fields in bytes of Kryo, which is no longer written.
    public static final String KRYO = "kryo";
    /// The attribute with the order of a sorted collection, if it is not the natural one, and its value.
    public static final String ORDER = "order";
    public static final String REVERSE = "reverse";
    /// The attribute with the name of the enum whose constants are the keys of a map or the elements of a set.
    public static final String ENUM = "enum";

    private JavaNode() {}

    /// {@return the name of the class of the object that a node stands for, or null if it stands for itself}
    ///
    /// @param node a value of a tree
    public static @Nullable String className(@Nullable Object node) {
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
    public static boolean isContainer(@Nullable Object value) {
        return value instanceof Map || value instanceof Collection || value instanceof Typed;
    }
}
