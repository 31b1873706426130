package io.undercroft.interop.torch7;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Locale;
import java.util.function.Function;
import java.util.regex.Pattern;

/// Numbers as text, as the C library writes and reads them.
final class CNumbers {
    /// Integers below are printed as they are, whatever the precision (of 9 digits at least).
    private static final double SHORT_INTEGER = 1e9;
    private static final String DECIMAL = "0123456789+-.eE";
    private static final Pattern HEXADECIMAL = Pattern
            .compile("0x(\\p{XDigit}+\\.?\\p{XDigit}*|\\.\\p{XDigit}+)(p[+-]?\\d+)?");
    /// The text that Torch7 writes for every NaN.
    private static final short HALF_NAN = 0x7FFF;

    private CNumbers() {}

    // ---- writing ----

    /// {@return a number as `printf("%.Ng")` writes it}
    ///
    /// @param value the number
    /// @param digits N, from 9 on
    static String print(double value, int digits) {
        if (!Double.isFinite(value) || value == 0) {
            return special(value);
        }
        if (Math.abs(value) < SHORT_INTEGER && value == Math.rint(value)) {
            return Long.toString((long) value);
        }
        BigDecimal rounded = new BigDecimal(Math.abs(value)).round(new MathContext(digits, RoundingMode.HALF_EVEN))
                .stripTrailingZeros();
        int exponent = rounded.precision() - rounded.scale() - 1;
        String sign = value < 0 ? "-" : "";
        return sign + (exponent < -4 || exponent >= digits
                ? scientific(rounded.unscaledValue().toString(), exponent)
                : rounded.toPlainString());
    }

    private static String special(double value) {
        boolean negative = Double.doubleToRawLongBits(value) < 0;
        String magnitude = Double.isNaN(value) ? "nan" : value == 0 ? "0" : "inf";
        return negative ? "-" + magnitude : magnitude;
    }

    private static String scientific(String digits, int exponent) {
        String fraction = digits.length() == 1 ? "" : "." + digits.substring(1);
        return digits.charAt(0) + fraction + "e" + (exponent < 0 ? "-" : "+") + (Math.abs(exponent) < 10 ? "0" : "")
                + Math.abs(exponent);
    }

    // ---- reading ----

    /// {@return the number that `scanf("%lg")` reads}
    ///
    /// @param text without white space
    /// @throws NumberFormatException if all of it is no number
    static double parseDouble(String text) {
        return isDecimal(text)
                ? Double.parseDouble(text)
                : other(text, Double::parseDouble, Double.longBitsToDouble(0xFFF8_0000_0000_0000L));
    }

    /// {@return the number that `scanf("%g")` reads}
    ///
    /// @param text without white space
    /// @throws NumberFormatException if all of it is no number
    static float parseFloat(String text) {
        return isDecimal(text)
                ? Float.parseFloat(text)
                : other(text, Float::parseFloat, Float.intBitsToFloat(0xFFC0_0000));
    }

    /// Java accepts more numbers than C: a suffix, for instance.
    private static boolean isDecimal(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (DECIMAL.indexOf(text.charAt(i)) < 0) {
                return false;
            }
        }
        return true;
    }

    private static <T> T other(String text, Function<String, T> parser, T negativeNaN) {
        boolean signed = text.startsWith("-") || text.startsWith("+");
        String sign = signed ? text.substring(0, 1) : "";
        String magnitude = text.substring(sign.length()).toLowerCase(Locale.ROOT);
        if (magnitude.equals("inf") || magnitude.equals("infinity")) {
            return parser.apply(sign + "Infinity");
        }
        if (magnitude.equals("nan")) {
            return sign.equals("-") ? negativeNaN : parser.apply("NaN");
        }
        if (HEXADECIMAL.matcher(magnitude).matches()) {
            return parser.apply(sign + magnitude + (magnitude.contains("p") ? "" : "p0"));
        }
        throw new NumberFormatException(text);
    }

    /// {@return the bits of the half that Torch7 makes of a float}
    ///
    /// @param value the float
    static short halfBits(float value) {
        return Float.isNaN(value) ? HALF_NAN : Float.floatToFloat16(value);
    }
}
