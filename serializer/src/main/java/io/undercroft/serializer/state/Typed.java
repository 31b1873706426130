package io.undercroft.serializer.state;

import io.undercroft.serializer.internal.tree.StateIndex;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// A value with the name of a type of another system, and attributes: for instance a PyTorch `Parameter`, a tensor
/// subclass, or a quantized tensor, whose attributes are scale and zero point. A map with a type is a [TypedMap].
///
/// Instances are compared by identity.
public final class Typed {
    private final String type;
    private final SequencedMap<String, @Nullable Object> attributes = new LinkedHashMap<>();
    private @Nullable Object value;

    /// Creates a typed value.
    ///
    /// @param type the name of the original type, for instance `torch.nn.parameter.Parameter`
    /// @param value the value
    /// @throws IllegalArgumentException if the value is a map
    public Typed(String type, @Nullable Object value) {
        this.type = Objects.requireNonNull(type, "type");
        this.value = checkNoMap(value);
    }

    /// {@return the name of the original type}
    public String type() {
        return type;
    }

    /// {@return the value}
    public @Nullable Object value() {
        return value;
    }

    /// Sets the value, for readers of values that contain references to themselves.
    ///
    /// @param held the new value
    /// @throws IllegalArgumentException if the value is a map
    public void value(@Nullable Object held) {
        this.value = checkNoMap(held);
    }

    /// {@return the attributes, which may be changed}
    public SequencedMap<String, @Nullable Object> attributes() {
        return attributes;
    }

    @Override
    public String toString() {
        return type + "(" + value + (attributes.isEmpty() ? "" : ", " + attributes) + ")";
    }

    private static @Nullable Object checkNoMap(@Nullable Object value) {
        if (value instanceof Map) {
            throw new IllegalArgumentException("a map under a type is a TypedMap");
        }
        return value;
    }
}
