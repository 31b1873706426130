package io.undercroft.storage.internal;

import io.undercroft.storage.internal.FloatFormat.Style;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Locale;
import java.util.function.DoubleFunction;
import java.util.function.LongToDoubleFunction;

/// Prints storages as Torch7 does: all elements, each on a line and all in one form, then what it is.
///
/// The form depends on the digits before the point, counted as `floor(log10(x)) + 1`, of the largest and the smallest
/// absolute value (1 for zero, less than 1 for fractions below 0.1):
///
/// | elements | form |
/// |---|---|
/// | whole numbers of up to 9 digits | `%d`, one wider than the longest |
/// | longer whole numbers, or an infinity among whole numbers | `%11.4e` |
/// | counts that differ by more than 4 | `%11.4e`, or `%12.4e` if one is beyond 99 |
/// | the largest count is above 5 or below 0 | `%7.4f` after division by a power of ten, the first line |
/// | other numbers | `%.4f`, 6 wider than the largest count |
/// | a NaN among them | `%f` |
public final class Torch7Printer {
    private static final int MAX_INTEGER_DIGITS = 9;
    private static final int EXPONENT_WIDTH = 11;
    private static final int MAX_SPREAD = 4;
    private static final int MAX_PLAIN_DIGITS = 5;
    private static final int MAX_TWO_DIGIT_EXPONENT = 99;
    private static final int FRACTION_WIDTH = 6;
    private static final int MIN_PLAIN_EXPONENT = -4;
    private static final int MAX_PLAIN_EXPONENT = 5;

    private final String typeName;
    private final long size;
    private final LongToDoubleFunction elements;
    private final StringBuilder text = new StringBuilder();
    private double smallest = Double.POSITIVE_INFINITY;
    private double largest;
    private boolean whole = true;

    private Torch7Printer(String typeName, long size, LongToDoubleFunction elements) {
        this.typeName = typeName;
        this.size = size;
        this.elements = elements;
    }

    /// {@return a storage as Torch7 prints it, without the line feed at the end}
    ///
    /// @param typeName the name of its class, one of Torch7's
    /// @param size the number of its elements
    /// @param elements the element at an index
    public static String print(String typeName, long size, LongToDoubleFunction elements) {
        return new Torch7Printer(typeName, size, elements).print();
    }

    private String print() {
        measure();
        DoubleFunction<String> form = form();
        for (long i = 0; i < size; i++) {
            text.append(form.apply(elements.applyAsDouble(i))).append('\n');
        }
        return text.append("[torch.").append(typeName).append(" of size ").append(size).append("]").toString();
    }

    private void measure() {
        for (long i = 0; i < size; i++) {
            double value = elements.applyAsDouble(i);
            whole &= value == Math.ceil(value);
            smallest = Math.min(smallest, Math.abs(value));
            largest = Math.max(largest, Math.abs(value));
        }
    }

    private DoubleFunction<String> form() {
        double most = digits(largest);
        double least = digits(smallest);
        if (Double.isNaN(most)) {
            return Torch7Printer::sixDecimals;
        } else if (whole && most > MAX_INTEGER_DIGITS) {
            return new FloatFormat(Style.EXPONENT, EXPONENT_WIDTH)::text;
        } else if (whole) {
            return value -> padded(Long.toString((long) value), (int) most + 1);
        } else if (most - least > MAX_SPREAD) {
            boolean wide = Math.abs(most) > MAX_TWO_DIGIT_EXPONENT || Math.abs(least) > MAX_TWO_DIGIT_EXPONENT;
            return new FloatFormat(Style.EXPONENT, wide ? EXPONENT_WIDTH + 1 : EXPONENT_WIDTH)::text;
        } else if (most > MAX_PLAIN_DIGITS || most < 0) {
            return scaled((int) most - 1);
        }
        return new FloatFormat(Style.DECIMAL, Math.max((int) most, 1) + FRACTION_WIDTH)::text;
    }

    private static double digits(double value) {
        return value == 0 ? 1 : Math.floor(Math.log10(value)) + 1;
    }

    private DoubleFunction<String> scaled(int exponent) {
        text.append(powerOfTen(exponent)).append(" *\n");
        double scale = Double.parseDouble("1e" + exponent);
        FloatFormat format = new FloatFormat(Style.DECIMAL, 1 + FRACTION_WIDTH);
        return value -> format.text(value / scale);
    }

    /// Formats a number as C's `%g` does.
    private static String powerOfTen(int exponent) {
        return exponent >= MIN_PLAIN_EXPONENT && exponent <= MAX_PLAIN_EXPONENT
                ? BigDecimal.valueOf(1, -exponent).toPlainString()
                : String.format(Locale.ROOT, "1e%+03d", exponent);
    }

    private static String sixDecimals(double value) {
        if (!Double.isFinite(value)) {
            return PythonNumber.of(value);
        }
        String sign = Double.doubleToRawLongBits(value) < 0 ? "-" : "";
        return sign + new BigDecimal(Math.abs(value)).setScale(6, RoundingMode.HALF_EVEN).toPlainString();
    }

    private static String padded(String text, int width) {
        return " ".repeat(Math.max(0, width - text.length())) + text;
    }
}
