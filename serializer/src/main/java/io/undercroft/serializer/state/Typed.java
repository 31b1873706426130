package io.undercroft.serializer.state;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// A value under a type of another system, with attributes: a PyTorch `Parameter`, a tensor subclass, a quantized
/// tensor (whose attributes are scale and zero point). A map under a type is a [TypedMap].
///
/// Two of them are equal only if they are the same object, since what they hold is compared by identity too.
public final class Typed {
    private final String type;
    private final SequencedMap<String, @Nullable Object> attributes = new LinkedHashMap<>();
    private @Nullable Object value;

    /// A typed value.
    ///
    /// @param type the name of its original type, for instance `torch.nn.parameter.Parameter`
    /// @param value what it holds
    /// @throws IllegalArgumentException if the value is a map
    public Typed(String type, @Nullable Object value) {
        this.type = Objects.requireNonNull(type, "type");
        this.value = checkNoMap(value);
    }

    /// {@return the name of its original type}
    public String type() {
        return type;
    }

    /// {@return what it holds}
    public @Nullable Object value() {
        return value;
    }

    /// {@return what the types around a value hold in the end; the value itself if it is not typed} One that holds
    /// itself has no end, so that the result is a [Typed].
    ///
    /// @param value any value of a state
    public static @Nullable Object held(@Nullable Object value) {
        Object held = value;
        for (int depth = 0; depth < StateIndex.MAX_DEPTH && held instanceof Typed typed; depth++) {
            held = typed.value;
        }
        return held;
    }

    /// Sets what it holds. (Readers need it where a value refers back to what holds it.)
    ///
    /// @param held the new value
    /// @throws IllegalArgumentException if the value is a map
    public void value(@Nullable Object held) {
        this.value = checkNoMap(held);
    }

    /// {@return the attributes; may be changed}
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
