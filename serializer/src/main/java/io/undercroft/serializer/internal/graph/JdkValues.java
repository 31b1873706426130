package io.undercroft.serializer.internal.graph;

import io.undercroft.serializer.state.Slice;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.QuantizedTensor;
import io.undercroft.storage.Shape;
import io.undercroft.storage.SparseTensor;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.net.URI;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.Month;
import java.time.MonthDay;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.Period;
import java.time.Year;
import java.time.YearMonth;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.temporal.ChronoField;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Currency;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/// The classes whose objects any state may hold. For those of the JDK that are no part of the tree, this has the plain
/// value that each object is saved as: for most the text that the class itself makes and parses, numbers as numbers, an
/// optional one as a list, constants of enums by name.
public final class JdkValues {
    /// The types whose objects have classes that are not public: paths, regions and character sets.
    private static final List<Class<?>> PUBLIC_TYPES = List.of(Path.class, ZoneId.class, Charset.class);
    private static final Set<Class<?>> ENUMS = Set.of(RoundingMode.class, TimeUnit.class, DayOfWeek.class, Month.class,
            ChronoUnit.class, ChronoField.class);
    /// The types whose objects are in the tree unchanged, or as a part of it.
    private static final Set<Class<?>> PLAIN = Set.of(String.class, Boolean.class, Byte.class, Short.class,
            Integer.class, Long.class, Float.class, Double.class, BigInteger.class, Optional.class, Complex.class,
            DType.class, Device.class, Shape.class, Symbol.class, Tuple.class, Typed.class, TypedMap.class,
            Tensor.class, Storage.class, TypedStorage.class, QuantizedTensor.class, Slice.class);
    /// Parsing takes time proportional to the square of the number of digits.
    private static final int MAX_DECIMAL = 1000;

    private static final Map<Class<?>, Value<?, ?>> VALUES = new HashMap<>();
    private static final Map<String, Class<?>> BY_NAME = new HashMap<>();

    /// The conversion of values of a class.
    ///
    /// @param type the class
    /// @param plain the class of what is saved
    private record Value<T, S>(Class<T> type, Class<S> plain, Function<T, S> encoder, Function<S, T> decoder) {
        Object encode(Object value) {
            S encoded = encoder.apply(type.cast(value));
            if (encoded instanceof String text && !value.equals(decoder.apply(encoded))) {
                throw new IllegalArgumentException("the " + type.getSimpleName() + " " + text
                        + " cannot be restored from its text; save it in another form");
            }
            return encoded;
        }

        Object decode(@Nullable Object saved) {
            Object value = FieldConversion.fit(plain, saved, () -> "is a value of type " + type.getName());
            if (value == null) {
                throw ObjectFaults.damaged("is of type " + type.getName() + " and has no value");
            }
            return decoder.apply(plain.cast(value));
        }
    }

    static {
        text(BigDecimal.class, JdkValues::decimal);
        text(UUID.class, UUID::fromString);
        text(URI.class, URI::create);
        text(Path.class, text -> Path.of(text));
        add(Locale.class, String.class, Locale::toLanguageTag, Locale::forLanguageTag);
        text(Currency.class, Currency::getInstance);
        text(Charset.class, Charset::forName);
        text(Instant.class, Instant::parse);
        text(Duration.class, Duration::parse);
        text(LocalDate.class, LocalDate::parse);
        text(LocalTime.class, LocalTime::parse);
        text(LocalDateTime.class, LocalDateTime::parse);
        text(ZoneOffset.class, ZoneOffset::of);
        text(ZoneId.class, ZoneId::of);
        text(OffsetTime.class, OffsetTime::parse);
        text(OffsetDateTime.class, OffsetDateTime::parse);
        text(ZonedDateTime.class, ZonedDateTime::parse);
        text(MonthDay.class, MonthDay::parse);
        text(Period.class, Period::parse);
        // Years of more than four digits need a sign, which LocalDate alone prints.
        add(YearMonth.class, String.class, month -> month.atDay(1).toString().replaceFirst("-01$", ""),
                YearMonth::parse);

        add(Year.class, Integer.class, Year::getValue, Year::of);
        add(BigInteger.class, Long.class, BigInteger::longValueExact, BigInteger::valueOf);
        add(Character.class, Integer.class, letter -> (int) letter, JdkValues::character);
        add(AtomicBoolean.class, Boolean.class, AtomicBoolean::get, AtomicBoolean::new);
        add(AtomicInteger.class, Integer.class, AtomicInteger::get, AtomicInteger::new);
        add(AtomicLong.class, Long.class, AtomicLong::get, AtomicLong::new);
        add(BitSet.class, byte[].class, BitSet::toByteArray, BitSet::valueOf);
        add(OptionalInt.class, List.class, value -> held(value.stream().boxed().toList()), held -> held.isEmpty()
                ? OptionalInt.empty()
                : OptionalInt.of(only(Integer.class, held)));
        add(OptionalLong.class, List.class, value -> held(value.stream().boxed().toList()), held -> held.isEmpty()
                ? OptionalLong.empty()
                : OptionalLong.of(only(Long.class, held)));
        add(OptionalDouble.class, List.class, value -> held(value.stream().boxed().toList()), held -> held.isEmpty()
                ? OptionalDouble.empty()
                : OptionalDouble.of(only(Double.class, held)));
        VALUES.keySet().forEach(type -> BY_NAME.put(type.getName(), type));
        ENUMS.forEach(type -> BY_NAME.put(type.getName(), type));
    }

    private JdkValues() {}

    /// {@return whether objects of a class may be in any state, without a registration}
    ///
    /// @param type any class
    public static boolean isValue(Class<?> type) {
        return typeOf(type).isPresent() || PLAIN.contains(type) || SparseTensor.class.isAssignableFrom(type)
                || isCollectionOfJdk(type);
    }

    private static boolean isCollectionOfJdk(Class<?> type) {
        return type.getName().startsWith("java.") && !CollectionType.isReplaced(type)
                && (Map.class.isAssignableFrom(type) || Collection.class.isAssignableFrom(type));
    }

    /// {@return whether files have a name for a class of the JDK: one of its values or collections}
    ///
    /// @param name any name
    public static boolean isKnown(String name) {
        return named(name).isPresent() || CollectionType.named(name) != null
                || Set.of(Optional.class.getName(), CollectionType.ENUM_MAP, CollectionType.ENUM_SET).contains(name);
    }

    /// {@return the public class of a class of values, for instance `Path` for the class of this system's paths;
    /// nothing if its objects are not values}
    ///
    /// @param type the class of an object
    static Optional<Class<?>> typeOf(Class<?> type) {
        return named(type.getName())
                .or(() -> PUBLIC_TYPES.stream().filter(known -> known.isAssignableFrom(type)).findFirst());
    }

    /// {@return the class of values of a name in a file}
    ///
    /// @param name the name of the public class
    static Optional<Class<?>> named(String name) {
        return Optional.ofNullable(BY_NAME.get(name));
    }

    /// {@return the enums whose constants are values}
    static Set<Class<?>> enums() {
        return ENUMS;
    }

    /// {@return the plain value that a value is saved as}
    ///
    /// @param type its public class, no enum
    /// @param value the value
    /// @throws IllegalArgumentException if it could not be restored, such as a path of another file system
    static Object encode(Class<?> type, Object value) {
        return Objects.requireNonNull(VALUES.get(type)).encode(value);
    }

    /// {@return the value that was saved as a plain value}
    ///
    /// @param type its public class, no enum
    /// @param saved the plain value
    /// @throws RuntimeException if it is that of no value
    static Object decode(Class<?> type, @Nullable Object saved) {
        return Objects.requireNonNull(VALUES.get(type)).decode(saved);
    }

    private static <T> void text(Class<T> type, Function<String, T> parser) {
        add(type, String.class, Object::toString, parser);
    }

    private static <T, S> void add(Class<T> type, Class<S> plain, Function<T, S> encoder, Function<S, T> decoder) {
        VALUES.put(type, new Value<>(type, plain, encoder, decoder));
    }

    private static BigDecimal decimal(String text) {
        if (text.length() > MAX_DECIMAL) {
            throw new IllegalArgumentException("a BigDecimal of more than " + MAX_DECIMAL
                    + " characters takes too long to read; save its unscaled value and its scale");
        }
        return new BigDecimal(text);
    }

    private static char character(int unit) {
        if (unit != (char) unit) {
            throw new IllegalArgumentException(unit + " is no character");
        }
        return (char) unit;
    }

    /// Returns a copy that the tree may keep.
    private static List<?> held(List<?> values) {
        return new ArrayList<>(values);
    }

    private static <T> T only(Class<T> type, List<?> held) {
        if (held.size() > 1) {
            throw ObjectFaults.damaged("is an optional number of " + held.size() + " values");
        }
        return Objects.requireNonNull(
                type.cast(FieldConversion.fit(type, held.getFirst(), () -> "is an optional number")));
    }
}
