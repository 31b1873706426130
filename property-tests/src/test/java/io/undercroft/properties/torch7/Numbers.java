package io.undercroft.properties.torch7;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Lua's numbers, all of which are doubles, as texts and back.
final class Numbers {
    private static final MathContext SEVENTEEN_DIGITS = new MathContext(17, RoundingMode.HALF_EVEN);
    private static final Pattern LUA = Pattern
            .compile("\\s*([-+]?)(?:0[xX]([0-9a-fA-F]+)|((?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][-+]?\\d+)?))\\s*");
    private static final Pattern C = Pattern.compile("\\s*([-+]?)(?:0[xX]([0-9a-fA-F]+)|(\\d*))");

    private Numbers() {}

    /// The number that a word of Lua means.
    static double parse(String text) {
        return find(text).orElseThrow(() -> new LuaError("no number: " + text));
    }

    /// The number that a text means to Lua, where it means one.
    static Optional<Double> find(String text) {
        Matcher number = LUA.matcher(text);
        if (!number.matches()) {
            return Optional.empty();
        }
        double size = number.group(2) != null
                ? new BigInteger(number.group(2), 16).doubleValue()
                : Double.parseDouble(number.group(3));
        return Optional.of(number.group(1).equals("-") ? -size : size);
    }

    /// The integer at the start of a text, as C's `strtoll(text, NULL, 0)` reads it: 0 if there is none, and the
    /// nearest `long` if it is too large.
    static long strtoll(String text) {
        Matcher number = C.matcher(text);
        if (!number.lookingAt()) {
            return 0;
        }
        String digits = number.group(2) != null ? number.group(2) : number.group(3);
        int radix = number.group(2) != null ? 16 : digits.startsWith("0") ? 8 : 10;
        BigInteger size = digits.isEmpty() ? BigInteger.ZERO : new BigInteger(digits, radix);
        BigInteger value = number.group(1).equals("-") ? size.negate() : size;
        return value.max(BigInteger.valueOf(Long.MIN_VALUE)).min(BigInteger.valueOf(Long.MAX_VALUE)).longValue();
    }

    /// The number as C's `%.17g` prints it.
    static String print(double value) {
        if (Double.isNaN(value)) {
            return "nan";
        }
        if (Double.isInfinite(value)) {
            return value > 0 ? "inf" : "-inf";
        }
        if (value == 0) {
            return 1 / value < 0 ? "-0" : "0";
        }
        BigDecimal digits = new BigDecimal(value).round(SEVENTEEN_DIGITS).stripTrailingZeros();
        int exponent = digits.precision() - digits.scale() - 1;
        if (exponent >= -4 && exponent < SEVENTEEN_DIGITS.getPrecision()) {
            return digits.toPlainString();
        }
        String sign = exponent < 0 ? "-" : "+";
        return "%se%s%02d".formatted(digits.movePointLeft(exponent).toPlainString(), sign, Math.abs(exponent));
    }
}
