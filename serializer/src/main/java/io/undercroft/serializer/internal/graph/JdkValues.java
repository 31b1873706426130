package io.undercroft.serializer.internal.graph;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.Serializer;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.AtomicBooleanSerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.AtomicIntegerSerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.AtomicLongSerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.BigDecimalSerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.BigIntegerSerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.BitSetSerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.CurrencySerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.URISerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.UUIDSerializer;
import com.esotericsoftware.kryo.serializers.ImmutableSerializer;
import com.esotericsoftware.kryo.serializers.OptionalSerializers.OptionalIntSerializer;
import com.esotericsoftware.kryo.serializers.OptionalSerializers.OptionalLongSerializer;
import com.esotericsoftware.kryo.serializers.TimeSerializers.DurationSerializer;
import com.esotericsoftware.kryo.serializers.TimeSerializers.InstantSerializer;
import com.esotericsoftware.kryo.serializers.TimeSerializers.LocalDateSerializer;
import com.esotericsoftware.kryo.serializers.TimeSerializers.LocalDateTimeSerializer;
import com.esotericsoftware.kryo.serializers.TimeSerializers.LocalTimeSerializer;
import com.esotericsoftware.kryo.serializers.TimeSerializers.MonthDaySerializer;
import com.esotericsoftware.kryo.serializers.TimeSerializers.OffsetDateTimeSerializer;
import com.esotericsoftware.kryo.serializers.TimeSerializers.OffsetTimeSerializer;
import com.esotericsoftware.kryo.serializers.TimeSerializers.PeriodSerializer;
import com.esotericsoftware.kryo.serializers.TimeSerializers.YearMonthSerializer;
import com.esotericsoftware.kryo.serializers.TimeSerializers.YearSerializer;
import com.esotericsoftware.kryo.serializers.TimeSerializers.ZoneIdSerializer;
import com.esotericsoftware.kryo.serializers.TimeSerializers.ZoneOffsetSerializer;
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
import java.time.chrono.HijrahDate;
import java.time.chrono.JapaneseDate;
import java.time.chrono.MinguoDate;
import java.time.chrono.ThaiBuddhistDate;
import java.time.temporal.ChronoField;
import java.time.temporal.ChronoUnit;
import java.util.BitSet;
import java.util.Currency;
import java.util.LinkedHashMap;
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
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Stream;

/// The classes of the JDK whose objects are values, and how Kryo writes each.
///
/// Kryo's own serializers are used where they keep all of a value. `ZonedDateTime` would lose which of two equal hours
/// at the end of summer time it means, `Locale` its script, floating-point numbers the bits of a NaN, so these have
/// others.
final class JdkValues {
    /// Those that hold others of their kind to a public class that is not their own: the JDK's paths, regions and
    /// character sets.
    private static final List<Class<?>> PUBLIC_TYPES = List.of(Path.class, ZoneId.class, Charset.class);
    private static final Set<Class<?>> MUTABLE = Set.of(AtomicBoolean.class, AtomicInteger.class, AtomicLong.class,
            BitSet.class);

    private static final Map<Class<?>, Value<?>> VALUES = new LinkedHashMap<>();
    private static final Map<String, Class<?>> BY_NAME = new LinkedHashMap<>();

    /// What Kryo must know of a class of values.
    ///
    /// @param id stands for the class in files
    /// @param type the class, of numbers the primitive one
    record Value<T>(int id, Class<T> type, Serializer<T> serializer) {}

    // The ids are part of the file format: they never change. Those below 9 are Kryo's own.
    static {
        add(0, int.class, Integer.class, of((out, value) -> out.writeInt(value, false), in -> in.readInt(false)));
        add(2, float.class, Float.class, of((out, value) -> out.writeInt(Float.floatToRawIntBits(value)),
                in -> Float.intBitsToFloat(in.readInt())));
        add(3, boolean.class, Boolean.class, of(Output::writeBoolean, Input::readBoolean));
        add(4, byte.class, Byte.class, of((out, value) -> out.writeByte(value.byteValue()), Input::readByte));
        add(5, char.class, Character.class, of(Output::writeChar, Input::readChar));
        add(6, short.class, Short.class, of((out, value) -> out.writeShort(value), Input::readShort));
        add(7, long.class, Long.class, of((out, value) -> out.writeLong(value, false), in -> in.readLong(false)));
        add(8, double.class, Double.class, of((out, value) -> writeDouble(out, value), JdkValues::readDouble));

        add(16, BigInteger.class, new BigIntegerSerializer());
        add(17, BigDecimal.class, new BigDecimalSerializer());
        add(18, RoundingMode.class);
        add(19, UUID.class, new UUIDSerializer());
        add(20, URI.class, new URISerializer());
        add(21, Path.class, of((out, path) -> out.writeString(text(path)), in -> Path.of(in.readString())));
        add(22, Locale.class, of(JdkValues::writeLocale, JdkValues::readLocale));
        add(23, Currency.class, new CurrencySerializer());
        add(24, Charset.class, of((out, set) -> out.writeString(name(set)), in -> Charset.forName(in.readString())));
        add(25, OptionalInt.class, new OptionalIntSerializer());
        add(26, OptionalLong.class, new OptionalLongSerializer());
        add(27, OptionalDouble.class, of(JdkValues::writeOptionalDouble, in -> in.readBoolean()
                ? OptionalDouble.of(readDouble(in))
                : OptionalDouble.empty()));
        add(28, TimeUnit.class);

        add(32, Instant.class, new InstantSerializer());
        add(33, Duration.class, new DurationSerializer());
        add(34, LocalDate.class, new LocalDateSerializer());
        add(35, LocalTime.class, new LocalTimeSerializer());
        add(36, LocalDateTime.class, new LocalDateTimeSerializer());
        add(37, ZoneOffset.class, new ZoneOffsetSerializer());
        add(38, ZoneId.class, new ZoneIdSerializer());
        add(39, OffsetTime.class, new OffsetTimeSerializer());
        add(40, OffsetDateTime.class, new OffsetDateTimeSerializer());
        add(41, ZonedDateTime.class, new ZonedDateTimeSerializer());
        add(42, Year.class, new YearSerializer());
        add(43, YearMonth.class, new YearMonthSerializer());
        add(44, MonthDay.class, new MonthDaySerializer());
        add(45, Period.class, new PeriodSerializer());
        add(46, DayOfWeek.class);
        add(47, Month.class);
        add(48, ChronoUnit.class);
        add(49, ChronoField.class);
        add(50, HijrahDate.class, days(HijrahDate::toEpochDay, HijrahDate::from));
        add(51, JapaneseDate.class, days(JapaneseDate::toEpochDay, JapaneseDate::from));
        add(52, MinguoDate.class, days(MinguoDate::toEpochDay, MinguoDate::from));
        add(53, ThaiBuddhistDate.class, days(ThaiBuddhistDate::toEpochDay, ThaiBuddhistDate::from));

        add(64, AtomicBoolean.class, new AtomicBooleanSerializer());
        add(65, AtomicInteger.class, new AtomicIntegerSerializer());
        add(66, AtomicLong.class, new AtomicLongSerializer());
        add(67, BitSet.class, new BitSetSerializer());
    }

    private JdkValues() {}

    /// {@return all of them}
    static Iterable<Value<?>> all() {
        return VALUES.values();
    }

    /// {@return their public classes}
    static Stream<Class<?>> types() {
        return VALUES.keySet().stream();
    }

    /// {@return the public class of a class of values, for instance `Path` for the class of this system's paths;
    /// nothing if its objects are not values}
    ///
    /// @param actual the class of an object
    static Optional<Class<?>> typeOf(Class<?> actual) {
        Value<?> value = VALUES.get(actual);
        if (value != null) {
            return Optional.of(actual);
        }
        return PUBLIC_TYPES.stream().filter(type -> type.isAssignableFrom(actual)).findFirst();
    }

    /// {@return the class of values of a name in a file}
    ///
    /// @param name the name of the public class
    static Optional<Class<?>> named(String name) {
        return Optional.ofNullable(BY_NAME.get(name));
    }

    /// {@return what writes and reads the values of a class}
    ///
    /// @param type the public class
    @SuppressWarnings("unchecked")
    static Serializer<Object> serializer(Class<?> type) {
        return (Serializer<Object>) Objects.requireNonNull(VALUES.get(type)).serializer();
    }

    /// {@return whether an object of a class of values can change, so that it matters who else holds it}
    ///
    /// @param type the public class
    static boolean isMutable(Class<?> type) {
        return MUTABLE.contains(type);
    }

    private static <T> void add(int id, Class<T> type, Serializer<T> serializer) {
        VALUES.put(type, new Value<>(id, type, serializer));
        BY_NAME.put(type.getName(), type);
    }

    /// Kryo registers boxes with their primitive classes.
    private static <T> void add(int id, Class<T> primitive, Class<T> box, Serializer<T> serializer) {
        VALUES.put(box, new Value<>(id, primitive, serializer));
        BY_NAME.put(box.getName(), box);
    }

    private static <E extends Enum<E>> void add(int id, Class<E> type) {
        add(id, type, of((out, constant) -> out.writeString(constant.name()),
                in -> Enum.valueOf(type, in.readString())));
    }

    private static <T> Serializer<T> of(BiConsumer<Output, T> writer, Function<Input, T> reader) {
        return new ImmutableSerializer<>() {
            @Override
            public void write(Kryo kryo, Output out, T value) {
                writer.accept(out, value);
            }

            @Override
            public T read(Kryo kryo, Input in, Class<? extends T> type) {
                return reader.apply(in);
            }
        };
    }

    /// A date of another calendar, as the day that it means.
    private static <T> Serializer<T> days(Function<T, Long> toDay, Function<LocalDate, T> fromDay) {
        return of((out, date) -> out.writeVarLong(toDay.apply(date), false),
                in -> fromDay.apply(LocalDate.ofEpochDay(in.readVarLong(false))));
    }

    private static void writeDouble(Output out, double value) {
        out.writeLong(Double.doubleToRawLongBits(value));
    }

    private static double readDouble(Input in) {
        return Double.longBitsToDouble(in.readLong());
    }

    private static void writeOptionalDouble(Output out, OptionalDouble value) {
        out.writeBoolean(value.isPresent());
        value.ifPresent(present -> writeDouble(out, present));
    }

    private static String text(Path path) {
        String text = path.toString();
        if (!Path.of(text).equals(path)) {
            throw new IllegalArgumentException("the path " + text
                    + " is not of the default file system, or has bytes that are no text; save it as a URI or as "
                    + "bytes");
        }
        return text;
    }

    private static String name(Charset set) {
        if (!Charset.isSupported(set.name()) || !Charset.forName(set.name()).equals(set)) {
            throw new IllegalArgumentException("the character set " + set + " cannot be found by its name");
        }
        return set.name();
    }

    /// A language tag says all, except of locales that were made before there were tags.
    private static void writeLocale(Output out, Locale locale) {
        String tag = locale.toLanguageTag();
        boolean tagged = Locale.forLanguageTag(tag).equals(locale);
        out.writeBoolean(tagged);
        if (tagged) {
            out.writeString(tag);
        } else {
            out.writeString(locale.getLanguage());
            out.writeString(locale.getCountry());
            out.writeString(locale.getVariant());
        }
    }

    private static Locale readLocale(Input in) {
        return in.readBoolean()
                ? Locale.forLanguageTag(in.readString())
                : Locale.of(in.readString(), in.readString(), in.readString());
    }

    private static final class ZonedDateTimeSerializer extends ImmutableSerializer<ZonedDateTime> {
        private static final LocalDateTimeSerializer LOCAL = new LocalDateTimeSerializer();
        private static final ZoneOffsetSerializer OFFSET = new ZoneOffsetSerializer();
        private static final ZoneIdSerializer ZONE = new ZoneIdSerializer();

        @Override
        public void write(Kryo kryo, Output out, ZonedDateTime time) {
            LOCAL.write(kryo, out, time.toLocalDateTime());
            OFFSET.write(kryo, out, time.getOffset());
            ZONE.write(kryo, out, time.getZone());
        }

        @Override
        public ZonedDateTime read(Kryo kryo, Input in, Class<? extends ZonedDateTime> type) {
            LocalDateTime local = LOCAL.read(kryo, in, LocalDateTime.class);
            ZoneOffset offset = OFFSET.read(kryo, in, ZoneOffset.class);
            return ZonedDateTime.ofInstant(local, offset, ZONE.read(kryo, in, ZoneId.class));
        }
    }
}
