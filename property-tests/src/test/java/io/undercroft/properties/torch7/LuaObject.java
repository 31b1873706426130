package io.undercroft.properties.torch7;

import java.util.List;

/// What is neither nil, nor a boolean, a number or a text: a table, a function, or an object of Torch7. What an object
/// cannot do is an error.
interface LuaObject {
    /// {@return its type, as errors name it}
    String type();

    /// {@return what is under a key, or null for nil}
    default Object get(Object key) {
        throw new LuaError("attempt to index a " + type() + " value");
    }

    /// Puts a value under a key.
    default void set(Object key, Object value) {
        throw new LuaError("attempt to index a " + type() + " value");
    }

    /// {@return what the operator `#` gives}
    default double length() {
        throw new LuaError("attempt to get length of a " + type() + " value");
    }

    /// Calls it.
    ///
    /// @return its values; none for a function that returns none
    default List<Object> call(LuaArguments arguments) {
        throw new LuaError("attempt to call a " + type() + " value");
    }

    /// {@return whether the operator `==` holds}
    default boolean sameAs(Object other) {
        return this == other;
    }

    /// {@return the objects that it keeps alive}
    default List<Object> references() {
        return List.of();
    }

    /// {@return what `tostring` gives}
    default String print() {
        return type() + ": 0xPTR";
    }
}
