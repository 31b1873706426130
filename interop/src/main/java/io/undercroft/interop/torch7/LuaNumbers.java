package io.undercroft.interop.torch7;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.OptionalDouble;

/// Numbers of Lua, which are doubles.
final class LuaNumbers {
    /// How many digits Lua prints at most.
    static final int DIGITS = 14;

    private LuaNumbers() {}

    /// {@return the double that a number of a state is, if it is one exactly}
    static OptionalDouble exact(Number number) {
        return switch (number) {
            case Double _,Float _,Integer _,Short _,Byte _ -> OptionalDouble.of(number.doubleValue());
            case Long value -> exact(BigInteger.valueOf(value));
            case BigInteger value -> exact(value);
            default -> OptionalDouble.empty();
        };
    }

    private static OptionalDouble exact(BigInteger value) {
        double nearest = value.doubleValue();
        boolean same = Double.isFinite(nearest) && new BigDecimal(nearest).compareTo(new BigDecimal(value)) == 0;
        return same ? OptionalDouble.of(nearest) : OptionalDouble.empty();
    }
}
