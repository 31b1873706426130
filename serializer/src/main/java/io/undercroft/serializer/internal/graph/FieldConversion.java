package io.undercroft.serializer.internal.graph;

import java.lang.invoke.MethodType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// Conversion of values to the class of a variable.
public final class FieldConversion {
    private FieldConversion() {}

    /// {@return whether a variable can hold a value, perhaps as a number of another class}
    ///
    /// @param type the class of the variable, perhaps a primitive one
    /// @param value the value
    public static boolean fits(Class<?> type, @Nullable Object value) {
        Class<?> wanted = wrapped(type);
        return isOf(type, wanted, value) || (value instanceof Number number && convert(number, wanted) != null);
    }

    /// {@return the class of a value for a message, or `null`}
    ///
    /// @param value the value
    public static String describe(@Nullable Object value) {
        return value == null ? "null" : "a value of type " + value.getClass().getTypeName();
    }

    private static Class<?> wrapped(Class<?> type) {
        return MethodType.methodType(type).wrap().returnType();
    }

    private static boolean isOf(Class<?> type, Class<?> wrapped, @Nullable Object value) {
        return value == null ? !type.isPrimitive() : wrapped.isInstance(value);
    }

    /// {@return a value that a variable can hold} A number is converted to the class of the variable if that loses
    /// nothing, so that an `int` may become a `long`, and values that programs in other languages wrote fit too.
    ///
    /// @param type the class of the variable, perhaps a primitive one
    /// @param value the value
    /// @param what a description of the variable, to precede "that …"
    /// @throws io.undercroft.format.FormatException if it cannot take the value
    static @Nullable Object fit(Class<?> type, @Nullable Object value, Supplier<String> what) {
        Class<?> wanted = wrapped(type);
        if (isOf(type, wanted, value)) {
            return value;
        }
        Object number = value instanceof Number given ? convert(given, wanted) : null;
        if (number == null) {
            throw ObjectFaults.changed(
                    what.get() + " that takes " + type.getTypeName() + ", but was saved with " + describe(value),
                    "Register an upgrader that makes the one of the other: StateClasses.upgrading(…)");
        }
        return number;
    }

    private static @Nullable Number convert(Number number, Class<?> wanted) {
        return switch (number) {
            case Float real -> wanted == Double.class ? (Number) real.doubleValue() : null;
            case Double real -> wanted == Float.class ? narrow(real) : null;
            case BigInteger integer -> convert(integer, wanted);
            case Byte _,Short _,Integer _,Long _ -> convert(BigInteger.valueOf(number.longValue()), wanted);
            default -> null;
        };
    }

    private static @Nullable Number narrow(double real) {
        float narrow = (float) real;
        return Double.compare(narrow, real) == 0 ? (Number) narrow : null;
    }

    private static @Nullable Number convert(BigInteger integer, Class<?> wanted) {
        try {
            return switch (wanted.getName()) {
                case "java.lang.Byte" -> integer.byteValueExact();
                case "java.lang.Short" -> integer.shortValueExact();
                case "java.lang.Integer" -> integer.intValueExact();
                case "java.lang.Long" -> integer.longValueExact();
                case "java.math.BigInteger" -> integer;
                case "java.lang.Float" -> exact(integer, integer.floatValue());
                case "java.lang.Double" -> exact(integer, integer.doubleValue());
                default -> null;
            };
        } catch (ArithmeticException _) {
            return null;
        }
    }

    private static @Nullable Number exact(BigInteger integer, Number real) {
        double value = real.doubleValue();
        boolean isExact = !Double.isInfinite(value) && new BigDecimal(value).compareTo(new BigDecimal(integer)) == 0;
        return isExact ? real : null;
    }
}
