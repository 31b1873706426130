package io.undercroft.properties.states;

import io.undercroft.properties.states.TrainingObjects.StageKey;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/// Java expressions whose values are given ones.
public final class JavaSource {
    private static final int LONG_TEXT = 100;

    private JavaSource() {}

    /// {@return an expression of a value that a state can hold and that holds no other object but keys}
    public static String of(@Nullable Object value) {
        return switch (value) {
            case null -> "null";
            case String text -> ofText(text);
            case Character letter -> "'" + escaped(letter) + "'";
            case Byte number -> "(byte) " + number;
            case Short number -> "(short) " + number;
            case Long number -> number == Long.MIN_VALUE ? "Long.MIN_VALUE" : number + "L";
            case Float number -> ofFloat(number);
            case Double number -> ofDouble(number);
            case Integer _,Boolean _ -> value.toString();
            case BigInteger number -> call("new BigInteger", number.toString());
            case BigDecimal number -> call("new BigDecimal", number.toString());
            case Complex number ->
                "new Complex(" + ofDouble(number.real()) + ", " + ofDouble(number.imaginary()) + ")";
            case DType dtype -> ofDType(dtype);
            case Device device -> call("Device.parse", device.toString());
            case Shape shape -> "Shape.of(" + numbers(shape.toArray()) + ")";
            case Symbol symbol -> call("new Symbol", symbol.name());
            case Tuple elements -> "Tuple.of(" + all(elements) + ")";
            case byte[] bytes when isLongAndZero(bytes) -> "new byte[" + bytes.length + "]";
            case byte[] bytes -> "new byte[]{"
                    + IntStream.range(0, bytes.length).mapToObj(i -> "" + bytes[i]).collect(Collectors.joining(", "))
                    + "}";
            case StageKey key -> "new StageKey(" + all(List.of(key.name(), key.id(), key.phase())) + ")";
            case Enum<?> constant -> constant.getDeclaringClass().getSimpleName() + "." + constant.name();
            default -> ofLibrary(value);
        };
    }

    /// {@return the expressions of values, as arguments of a call}
    static String all(Collection<? extends @Nullable Object> values) {
        // An only argument that is null would be taken for an array.
        return values.size() == 1 && values.contains(null)
                ? "(Object) null"
                : values.stream().map(JavaSource::of).collect(Collectors.joining(", "));
    }

    /// {@return numbers as arguments of type `long`}
    public static String numbers(long... numbers) {
        return IntStream.range(0, numbers.length)
                .mapToObj(i -> numbers[i] == (int) numbers[i] ? "" + numbers[i] : of(numbers[i]))
                .collect(Collectors.joining(", "));
    }

    private static String ofLibrary(Object value) {
        return switch (value) {
            case Instant instant -> call("Instant.parse", instant.toString());
            case LocalDate date -> call("LocalDate.parse", date.toString());
            case ZonedDateTime time -> call("ZonedDateTime.parse", time.toString());
            case Duration duration -> call("Duration.parse", duration.toString());
            case ZoneId zone -> call("ZoneId.of", zone.getId());
            case UUID uuid -> call("UUID.fromString", uuid.toString());
            case URI address -> call("URI.create", address.toString());
            case Path path -> call("Path.of", path.toString());
            case Locale locale -> call("Locale.forLanguageTag", locale.toLanguageTag());
            case OptionalInt number -> "OptionalInt.of(" + number.getAsInt() + ")";
            default -> throw new IllegalArgumentException("no Java expression of " + value.getClass());
        };
    }

    private static boolean isLongAndZero(byte... bytes) {
        return bytes.length > LONG_TEXT && Arrays.equals(bytes, new byte[bytes.length]);
    }

    private static String call(String what, String argument) {
        return what + "(" + ofText(argument) + ")";
    }

    private static String ofText(String text) {
        return text.length() > LONG_TEXT && text.chars().distinct().count() == 1
                ? ofText(text.substring(0, 1)) + ".repeat(" + text.length() + ")"
                : text.chars().mapToObj(c -> escaped((char) c)).collect(Collectors.joining("", "\"", "\""));
    }

    /// Octal where a Unicode escape would end the line or the literal before the compiler reads it.
    private static String escaped(char c) {
        if (c == '"' || c == '\'' || c == '\\') {
            return "\\" + c;
        }
        if (c < ' ') {
            return String.format(Locale.ROOT, "\\%03o", (int) c);
        }
        return c <= '~' ? String.valueOf(c) : String.format(Locale.ROOT, "\\u%04X", (int) c);
    }

    private static String ofFloat(float number) {
        int bits = Float.floatToRawIntBits(number);
        return Float.isFinite(number) ? number + "f" : "Float.intBitsToFloat(0x" + Integer.toHexString(bits) + ")";
    }

    private static String ofDouble(double number) {
        long bits = Double.doubleToRawLongBits(number);
        return Double.isFinite(number)
                ? Double.toString(number)
                : "Double.longBitsToDouble(0x" + Long.toHexString(bits) + "L)";
    }

    private static String ofDType(DType dtype) {
        return DType.values().contains(dtype)
                ? "DType." + dtype.name().toUpperCase(Locale.ROOT)
                : "DType.opaque(" + ofText(dtype.name()) + ", " + dtype.bits() + ")";
    }
}
