package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.HexFormat;
import java.util.Locale;

/// Numbers as Python's `repr` writes them: with the fewest digits that distinguish them from all other doubles, and an
/// exponent if that is below -4 or above 15; and bits without a number.
public final class PythonNumber {
    private static final int MIN_PLAIN_EXPONENT = -4;
    private static final int MAX_PLAIN_EXPONENT = 15;
    private static final MathContext ONE_DIGIT = new MathContext(1, RoundingMode.HALF_EVEN);

    private PythonNumber() {}

    /// {@return a float, for instance `1.0`, `1e-05`, `-inf`}
    ///
    /// @param value the value to write
    public static String of(double value) {
        String text = brief(value);
        return Double.isFinite(value) && text.chars().allMatch(c -> c == '-' || Character.isDigit(c))
                ? text + ".0"
                : text;
    }

    /// {@return a complex number, for instance `(1-2j)`, or `2j` if the real part is a positive zero}
    ///
    /// @param real the real part
    /// @param imaginary the imaginary part
    public static String of(double real, double imaginary) {
        String unreal = brief(imaginary) + "j";
        if (Double.doubleToRawLongBits(real) == 0) {
            return unreal;
        }
        return "(" + brief(real) + (unreal.startsWith("-") ? "" : "+") + unreal + ")";
    }

    /// {@return the bits of an element as a hexadecimal number, the highest first}
    ///
    /// @param bytes the bytes of the element
    public static String hex(MemorySegment bytes) {
        StringBuilder digits = new StringBuilder("0x");
        for (long i = bytes.byteSize() - 1; i >= 0; i--) {
            digits.append(HexFormat.of().toHexDigits(bytes.get(Layouts.BYTE, i)));
        }
        return digits.toString();
    }

    /// Without a fraction where there is none.
    private static String brief(double value) {
        if (Double.isNaN(value)) {
            return "nan";
        }
        String sign = Double.doubleToRawLongBits(value) < 0 ? "-" : "";
        return sign + (Double.isInfinite(value) ? "inf" : value == 0 ? "0" : finite(Math.abs(value)));
    }

    private static String finite(double value) {
        BigDecimal digits = shortest(value);
        int exponent = digits.precision() - digits.scale() - 1;
        if (exponent >= MIN_PLAIN_EXPONENT && exponent <= MAX_PLAIN_EXPONENT) {
            return digits.toPlainString();
        }
        return digits.movePointLeft(exponent).toPlainString() + String.format(Locale.ROOT, "e%+03d", exponent);
    }

    /// Returns the decimal with the fewest digits that is read as the value. Java gives at least two digits, of which
    /// the second is too much for some of the smallest numbers: 4.9e-324 is 5e-324.
    private static BigDecimal shortest(double value) {
        BigDecimal oneDigit = new BigDecimal(value).round(ONE_DIGIT);
        BigDecimal digits = oneDigit.doubleValue() == value ? oneDigit : new BigDecimal(Double.toString(value));
        return digits.stripTrailingZeros();
    }
}
