package io.undercroft.interop.torch7;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.interop.internal.Utf8;
import io.undercroft.storage.TypedStorage;
import java.util.HashSet;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// The keys of one table that is to be written. Lua has fewer of them than Java: 1 is 1.0, and text is its bytes.
final class LuaKeys {
    private final Set<Object> seen = new HashSet<>();

    /// Adds a key.
    ///
    /// @param key a key of a map
    /// @return what is wrong with it, if anything is
    Optional<String> add(@Nullable Object key) {
        if (key == null) {
            return Optional.of("null as a key");
        }
        Object identity = identity(key);
        if (identity.equals(Double.NaN)) {
            return Optional.of("NaN as a key");
        }
        return seen.add(identity) ? Optional.empty() : Optional.of("a table with two keys that are one in Lua");
    }

    private static Object identity(Object key) {
        return switch (key) {
            case Number number -> {
                OptionalDouble value = LuaNumbers.exact(number);
                // Takes the sign off -0.
                yield value.isPresent() ? (Object) (value.getAsDouble() + 0.0) : number;
            }
            // One that has no bytes is refused when it is written.
            case String text -> Utf8.encode(text).map(LuaKeys::identity).orElse(text);
            case byte[] bytes -> identity(bytes);
            case TypedStorage storage -> storage.untyped();
            default -> key;
        };
    }

    private static Object identity(byte[] bytes) {
        return new String(bytes, ISO_8859_1);
    }
}
