package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.Tensor;
import java.lang.invoke.MethodType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// Values of a state as those of the classes that programs use.
public final class ValueConversion {
    private ValueConversion() {}

    /// {@return a value as one of a class; see [io.undercroft.serializer.Checkpoint#value(String, Class)]}
    ///
    /// @param <T> the class
    /// @param value any value of a state
    /// @param type the class
    /// @param what the value in words, for the message
    /// @throws ClassCastException if it cannot be one
    @SuppressWarnings("unchecked")
    public static <T> T of(@Nullable Object value, Class<T> type, Supplier<String> what) {
        Class<?> wrapper = MethodType.methodType(type).wrap().returnType();
        Object held = value;
        for (int i = 0; i < StateIndex.MAX_DEPTH && held instanceof Typed typed && !wrapper.isInstance(held); i++) {
            held = typed.value();
        }
        boolean isScalar = Number.class.isAssignableFrom(wrapper) || wrapper.equals(Boolean.class);
        if (isScalar && held instanceof Tensor tensor && tensor.numel() == 1) {
            held = element(tensor).orElse(held);
        }
        Object found = held instanceof Number number && isScalar && !wrapper.isInstance(held)
                ? number(number, wrapper).orElse(held)
                : held;
        if (!wrapper.isInstance(found)) {
            throw new ClassCastException(what.get() + " is " + describe(found, isScalar) + ", not of "
                    + (found instanceof Tensor ? "the class " : "") + wrapper.getName() + remedy(found));
        }
        return (T) found;
    }

    /// The class of a tensor is one of several that are not public.
    private static String describe(@Nullable Object found, boolean isScalar) {
        return switch (found) {
            case null -> "null";
            case Tensor tensor -> "a tensor of shape " + tensor.shape();
            default -> "of the class " + found.getClass().getName()
                    + (isScalar && found instanceof Number ? ", " + FormatException.quote(found.toString()) : "");
        };
    }

    private static String remedy(@Nullable Object found) {
        return switch (found) {
            case null -> "";
            case Tensor _ -> "; ask for the class Tensor, or for the tensor by its name with Checkpoint.tensor";
            case List<?> _ -> "; ask for the class List, which lists and tuples have";
            case Set<?> _ -> "; ask for the class Set";
            case Map<?, ?> _ -> "; ask for the class Map";
            default -> "";
        };
    }

    private static Optional<Object> element(Tensor tensor) {
        Kind kind = tensor.dtype().kind();
        return switch (kind) {
            case FLOATING -> Optional.of(tensor.toDoubleArray()[0]);
            case BOOLEAN -> Optional.of(tensor.toLongArray()[0] != 0);
            case SIGNED -> Optional.of(tensor.toLongArray()[0]);
            case UNSIGNED -> Optional.of(new BigInteger(Long.toUnsignedString(tensor.toLongArray()[0])));
            default -> Optional.empty();
        };
    }

    private static Optional<Object> number(Number number, Class<?> wrapper) {
        if (wrapper.equals(Double.class)) {
            return Optional.of(number.doubleValue());
        }
        if (wrapper.equals(Float.class)) {
            return Optional.of(number.floatValue());
        }
        try {
            BigInteger integer = new BigDecimal(number.toString()).toBigIntegerExact();
            return switch (wrapper.getSimpleName()) {
                case "Long" -> Optional.of(integer.longValueExact());
                case "Integer" -> Optional.of(integer.intValueExact());
                case "Short" -> Optional.of(integer.shortValueExact());
                case "Byte" -> Optional.of(integer.byteValueExact());
                case "BigInteger" -> Optional.of(integer);
                default -> Optional.empty();
            };
        } catch (ArithmeticException | NumberFormatException _) {
            // It is larger, has a fraction, or is not finite.
            return Optional.empty();
        }
    }
}
