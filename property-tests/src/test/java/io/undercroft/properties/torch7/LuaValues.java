package io.undercroft.properties.torch7;

import java.util.Optional;

/// Values of Lua in Java: null is nil; booleans, [Double]s, and [String]s of one `char` per byte; all else is a
/// [LuaObject].
final class LuaValues {
    private LuaValues() {}

    static String type(Object value) {
        return switch (value) {
            case null -> "nil";
            case Boolean _ -> "boolean";
            case Double _ -> "number";
            case String _ -> "string";
            case LuaObject object -> object.type();
            default -> throw unknown(value);
        };
    }

    static boolean isTrue(Object value) {
        return value != null && !Boolean.FALSE.equals(value);
    }

    static boolean equal(Object left, Object right) {
        return switch (left) {
            case null -> right == null;
            case Double number -> right instanceof Double other && number.doubleValue() == other.doubleValue();
            case LuaObject object -> object.sameAs(right);
            default -> left.equals(right);
        };
    }

    static Optional<Double> toNumber(Object value) {
        return switch (value) {
            case Double number -> Optional.of(number);
            case String text -> Numbers.find(text);
            case null, default -> Optional.empty();
        };
    }

    /// A text, or a number as one.
    static Optional<String> toText(Object value) {
        return switch (value) {
            case String text -> Optional.of(text);
            case Double number -> Optional.of(Numbers.print(number));
            case null, default -> Optional.empty();
        };
    }

    /// What `tostring` gives.
    static String print(Object value) {
        return switch (value) {
            case null -> "nil";
            case Boolean truth -> truth.toString();
            case Double number -> Numbers.print(number);
            case String text -> text;
            case LuaObject object -> object.print();
            default -> throw unknown(value);
        };
    }

    private static IllegalArgumentException unknown(Object value) {
        return new IllegalArgumentException("no value of Lua: " + value.getClass());
    }
}
