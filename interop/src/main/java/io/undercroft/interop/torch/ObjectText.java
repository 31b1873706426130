package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.TypedMap;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.Locale;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/// The text of objects of Python's own classes whose pickles do not show their values: dates as bytes, durations as
/// numbers, UUIDs as an integer, paths in parts.
///
/// It is the text that Python's `str()` gives, and of times that of `isoformat()`. Of a time zone that is not an offset
/// from UTC, its name follows in brackets, as the offset is not in the pickle.
final class ObjectText {
    private static final int SECONDS_PER_DAY = 86_400;
    private static final long MICROS_PER_SECOND = 1_000_000;
    private static final long NANOS = 1000;
    private static final long MOST_DAYS = 1_000_000_000;
    private static final int DATE = 4;
    private static final int TIME = 6;
    /// In the byte of the month or the hour: the later one of two equal times when clocks are turned back.
    private static final int FOLD = 0x80;

    private ObjectText() {}

    /// {@return the text of an object, or null if it has none or its pickle is not that of such an object}
    static @Nullable String of(TypedMap object, ReadBudget budget) {
        return switch (object.type()) {
            case "python:uuid.UUID" -> uuid(object.get("int"));
            case "python:datetime.date" -> date(bytes(arguments(object), DATE));
            case "python:datetime.time" -> withZone(time(bytes(arguments(object), TIME)), arguments(object));
            case "python:datetime.datetime" ->
                withZone(dateAndTime(bytes(arguments(object), DATE + TIME)), arguments(object));
            case "python:datetime.timedelta" -> text(duration(arguments(object)));
            case "python:decimal.Decimal" -> first(object) instanceof String text ? text : null;
            case "python:pathlib.PosixPath", "python:pathlib.PurePosixPath" -> path(arguments(object), '/', budget);
            case "python:pathlib.WindowsPath", "python:pathlib.PureWindowsPath" ->
                path(arguments(object), '\\', budget);
            default -> null;
        };
    }

    private static Tuple arguments(TypedMap object) {
        return object.attributes().get(InertObject.ARGUMENTS) instanceof Tuple given ? given : Tuple.of();
    }

    private static @Nullable Object first(TypedMap object) {
        Tuple arguments = arguments(object);
        return arguments.isEmpty() ? null : arguments.getFirst();
    }

    // ---- dates and times ----

    /// {@return the fields of a time, one byte each, or null} Python 2 wrote them as a text.
    private static @Nullable ByteBuffer bytes(Tuple arguments, int length) {
        byte[] bytes = switch (arguments.isEmpty() ? null : arguments.getFirst()) {
            case byte[] given -> given;
            case String text when text.length() <= length -> text.getBytes(UTF_8);
            case null, default -> new byte[0];
        };
        return bytes.length == length ? ByteBuffer.wrap(bytes) : null;
    }

    private static @Nullable String dateAndTime(@Nullable ByteBuffer fields) {
        String date = date(fields);
        String time = time(fields);
        return date == null || time == null ? null : date + "T" + time;
    }

    private static @Nullable String date(@Nullable ByteBuffer fields) {
        if (fields == null) {
            return null;
        }
        try {
            int year = Short.toUnsignedInt(fields.getShort());
            LocalDate date = LocalDate.of(year, fields.get() & ~FOLD & 0xFF, fields.get());
            return year <= 9999 ? date.toString() : null;
        } catch (DateTimeException _) {
            return null;
        }
    }

    private static @Nullable String time(@Nullable ByteBuffer fields) {
        if (fields == null) {
            return null;
        }
        try {
            LocalTime time = LocalTime.of(fields.get() & ~FOLD & 0xFF, fields.get(), fields.get());
            long micros = Byte.toUnsignedLong(fields.get()) << 16 | Short.toUnsignedLong(fields.getShort());
            return micros < MICROS_PER_SECOND ? clock(time.toSecondOfDay(), micros) : null;
        } catch (DateTimeException _) {
            return null;
        }
    }

    private static @Nullable String withZone(@Nullable String time, Tuple arguments) {
        if (time == null || arguments.size() < 2 || arguments.get(1) == null) {
            return time;
        }
        if (!(arguments.get(1) instanceof TypedMap zone && PythonObjects.is(zone))) {
            return null;
        }
        Object about = first(zone);
        Duration offset = zone.type().equals("python:datetime.timezone") && about instanceof TypedMap delta
                ? duration(arguments(delta))
                : null;
        return offset == null
                ? time + "[" + (about instanceof String name ? name : PythonObjects.className(zone)) + "]"
                : time + offset(offset);
    }

    private static String offset(Duration offset) {
        String clock = clock(offset.abs().toSeconds(), offset.abs().toNanosPart() / NANOS);
        return (offset.isNegative() ? "-" : "+")
                + (clock.endsWith(":00") ? clock.substring(0, clock.length() - 3) : clock);
    }

    private static String clock(long seconds, long micros) {
        String clock = String.format(Locale.ROOT, "%02d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
        return micros == 0 ? clock : clock + String.format(Locale.ROOT, ".%06d", micros);
    }

    private static @Nullable String text(@Nullable Duration duration) {
        if (duration == null) {
            return null;
        }
        long days = Math.floorDiv(duration.getSeconds(), SECONDS_PER_DAY);
        String clock = clock(Math.floorMod(duration.getSeconds(), SECONDS_PER_DAY), duration.getNano() / NANOS);
        String hours = clock.startsWith("0") ? clock.substring(1) : clock;
        return days == 0 ? hours : days + (Math.abs(days) == 1 ? " day, " : " days, ") + hours;
    }

    /// {@return a duration of days, seconds and microseconds, or null if it is none}
    private static @Nullable Duration duration(Tuple parts) {
        if (parts.size() == 3 && parts.get(0) instanceof Long days
                && parts.get(1) instanceof Long seconds && parts.get(2) instanceof Long micros
                && Math.abs(days) < MOST_DAYS && 0 <= seconds && seconds < SECONDS_PER_DAY
                && 0 <= micros && micros < MICROS_PER_SECOND) {
            return Duration.ofDays(days).plusSeconds(seconds).plusNanos(NANOS * micros);
        }
        return null;
    }

    // ---- others ----

    private static @Nullable String uuid(@Nullable Object number) {
        BigInteger value = switch (number) {
            case Long small -> BigInteger.valueOf(small);
            case BigInteger big -> big;
            case null, default -> BigInteger.ONE.negate();
        };
        return value.signum() < 0 || value.bitLength() > 2 * Long.SIZE
                ? null
                : new UUID(value.shiftRight(Long.SIZE).longValue(), value.longValue()).toString();
    }

    /// A part that begins with a separator is where the path starts anew.
    private static @Nullable String path(Tuple parts, char separator, ReadBudget budget) {
        StringBuilder path = new StringBuilder();
        for (Object part : parts) {
            if (!(part instanceof String text)) {
                return null;
            }
            budget.takeSteps(1);
            budget.takeMemory(2L * text.length());
            if (text.indexOf(separator) == 0) {
                path.setLength(0);
            } else if (!path.isEmpty() && path.charAt(path.length() - 1) != separator) {
                path.append(separator);
            }
            path.append(text);
        }
        return path.isEmpty() ? "." : path.toString();
    }
}
