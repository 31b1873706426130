package io.undercroft.properties.torch7;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/// Values as the observed cases write them down.
final class Notation {
    private static final MathContext SEVENTEEN_DIGITS = new MathContext(17, RoundingMode.HALF_EVEN);

    private Notation() {}

    static String of(Object value) {
        return switch (value) {
            case String text -> quote(text);
            case List<?> table -> table(table);
            case TypedStorage storage -> storage(storage);
            case Tensor tensor -> tensor(tensor);
            case null, default -> text(value);
        };
    }

    /// What Lua's `tostring` gives.
    static String text(Object value) {
        return switch (value) {
            case null -> "nil";
            case Double number -> number(number);
            case TypedStorage storage -> storage.toTorch7String() + "\n";
            case Method _ -> "function: 0xPTR";
            default -> value.toString();
        };
    }

    /// The name of a storage's or tensor's class in Torch7.
    static String type(Object value) {
        return switch (value) {
            case TypedStorage storage -> "torch." + storage.typeName();
            case Tensor tensor -> tensorType(tensor.dtype());
            default -> throw new IllegalArgumentException("no class of Torch7: " + value);
        };
    }

    static String tensorType(DType dtype) {
        return type(TypedStorage.allocate(dtype, 0)).replace("Storage", "Tensor");
    }

    private static String quote(String text) {
        return text.chars()
                .mapToObj(c -> c < ' ' || c > '~' || c == '\\' ? "\\x%02x".formatted(c) : Character.toString(c))
                .collect(Collectors.joining("", "\"", "\""));
    }

    private static String table(List<?> elements) {
        return IntStream.range(0, elements.size())
                .mapToObj(i -> "[" + (i + 1) + "]=" + number(((Number) elements.get(i)).doubleValue()))
                .collect(Collectors.joining(", ", "{", "}"));
    }

    private static String storage(TypedStorage storage) {
        return type(storage) + "[" + storage.size() + "]" + LongStream.range(0, storage.size())
                .mapToObj(index -> number(storage.getDouble(index))).collect(Collectors.joining(", ", "{", "}"));
    }

    private static String tensor(Tensor tensor) {
        return "%s(size=%s, stride=%s, offset=%s, storage=%s)".formatted(type(tensor),
                braces(tensor.shape().toArray()), braces(tensor.stride()), tensor.storageOffset() + 1,
                storage(new TypedStorage(tensor.storage(), tensor.dtype())));
    }

    private static String braces(long[] values) {
        return Arrays.stream(values).mapToObj(Long::toString).collect(Collectors.joining(", ", "{", "}"));
    }

    /// The number as C's `%.17g` prints it.
    private static String number(double value) {
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
        return String.format(Locale.ROOT, "%se%s%02d", digits.movePointLeft(exponent).toPlainString(), sign,
                Math.abs(exponent));
    }
}
