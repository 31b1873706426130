package io.undercroft.storage.internal;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Arrays;
import java.util.Locale;

/// The format in which PyTorch prints floating-point numbers of one tensor: all as integers with a point, all with 4
/// decimals, or all with an exponent.
///
/// @param style the style
/// @param width the width that the finite numbers other than 0 need; 1 without any
public record FloatFormat(Style style, int width) {
    /// The ways to print a number.
    public enum Style {
        /// `22.`
        INTEGER,
        /// `0.2500`
        DECIMAL,
        /// `2.2000e+01`
        EXPONENT
    }

    private static final int PRECISION = 4;
    private static final double MAX_RATIO = 1000;
    private static final double MAX_PLAIN = 1e8;
    private static final double MIN_PLAIN = 1e-4;

    /// {@return the format for some numbers} Only those that are finite and not 0 count.
    ///
    /// @param values the numbers
    public static FloatFormat of(double[] values) {
        double[] counted = Arrays.stream(values).filter(value -> Double.isFinite(value) && value != 0).toArray();
        if (counted.length == 0) {
            return new FloatFormat(Style.INTEGER, 1);
        }
        Style style = styleOf(counted);
        int width = Arrays.stream(counted).mapToInt(value -> finite(value, style).length()).max().orElse(1);
        return new FloatFormat(style, width);
    }

    /// {@return the text of a number, padded to the width}
    ///
    /// @param value the number
    public String text(double value) {
        String text = Double.isNaN(value) ? "nan"
                : Double.isInfinite(value) ? value < 0 ? "-inf" : "inf"
                        : finite(value, style);
        return " ".repeat(Math.max(0, width - text.length())) + text;
    }

    private static Style styleOf(double[] values) {
        double max = Arrays.stream(values).map(Math::abs).max().orElse(1);
        double min = Arrays.stream(values).map(Math::abs).min().orElse(1);
        if (max / min > MAX_RATIO || max > MAX_PLAIN || min < MIN_PLAIN) {
            return Style.EXPONENT;
        }
        return Arrays.stream(values).allMatch(value -> value == Math.rint(value)) ? Style.INTEGER : Style.DECIMAL;
    }

    /// Rounds the exact binary value, as C does. (`String.format` rounds its shortest decimal form instead.)
    private static String finite(double value, Style style) {
        String sign = Double.doubleToRawLongBits(value) < 0 ? "-" : "";
        BigDecimal exact = new BigDecimal(Math.abs(value));
        return sign + switch (style) {
            case INTEGER -> exact.setScale(0, RoundingMode.HALF_EVEN).toPlainString() + ".";
            case DECIMAL -> exact.setScale(PRECISION, RoundingMode.HALF_EVEN).toPlainString();
            case EXPONENT -> scientific(exact);
        };
    }

    private static String scientific(BigDecimal exact) {
        BigDecimal rounded = exact.round(new MathContext(PRECISION + 1, RoundingMode.HALF_EVEN));
        int exponent = rounded.signum() == 0 ? 0 : rounded.precision() - rounded.scale() - 1;
        String mantissa = rounded.movePointLeft(exponent).setScale(PRECISION, RoundingMode.UNNECESSARY).toPlainString();
        return mantissa + String.format(Locale.ROOT, "e%+03d", exponent);
    }
}
