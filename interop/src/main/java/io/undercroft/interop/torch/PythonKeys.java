package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.tree.StateKeys;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.storage.Complex;
import io.undercroft.storage.Shape;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/// Equality of keys as in Python. There `1`, `1.0` and `True` are equal, so a dict would silently keep only the last
/// of their values.
final class PythonKeys {
    private PythonKeys() {}

    /// Checks keys of a dict, or elements of a set.
    ///
    /// @param keys all of them
    /// @throws IllegalArgumentException if Python cannot hash one, or takes two of them for one
    static void check(Collection<?> keys) {
        Set<@Nullable Object> known = HashSet.newHashSet(keys.size());
        for (Object key : keys) {
            if (!StateKeys.isKey(key)) {
                throw new IllegalArgumentException(
                        "a key of a dict or an element of a set is a plain value or a tuple of at most "
                                + StateKeys.MAX_PARTS + " of them");
            }
            if (!known.add(identity(key))) {
                throw new IllegalArgumentException("the key " + FormatException.quote(String.valueOf(key))
                        + " comes twice, as values that are equal in Python");
            }
        }
    }

    private static @Nullable Object identity(@Nullable Object key) {
        return switch (key) {
            case Boolean truth -> truth ? 1L : 0L;
            case BigInteger big -> integer(big);
            case Float real -> identity(real.doubleValue());
            case Double real when real == Math.rint(real) && !real.isInfinite() ->
                integer(new BigDecimal(real).toBigInteger());
            case Double real -> real;
            case Number integer -> integer.longValue();
            case Complex complex when complex.imaginary() == 0 -> identity(complex.real());
            // Minus zero is zero.
            case Complex complex -> new Complex(complex.real() + 0.0, complex.imaginary() + 0.0);
            case Tuple tuple -> tuple.stream().map(PythonKeys::identity).toList();
            case Shape shape -> sizes(shape);
            case byte[] bytes -> ByteBuffer.wrap(bytes);
            case null, default -> key;
        };
    }

    private static Object integer(BigInteger value) {
        return value.bitLength() < Long.SIZE ? (Object) value.longValue() : value;
    }

    private static List<?> sizes(Shape shape) {
        return LongStream.of(shape.toArray()).boxed().toList();
    }
}
