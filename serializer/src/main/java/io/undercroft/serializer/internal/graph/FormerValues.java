package io.undercroft.serializer.internal.graph;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.Serializer;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.AtomicBooleanSerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.AtomicIntegerSerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.AtomicLongSerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.BitSetSerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.URISerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.UUIDSerializer;
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
import java.util.BitSet;
import java.util.Currency;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/// Values of the JDK as Kryo wrote them before [JdkValues] made plain values of them. Old files have them in the
/// attribute `kryo` of a node and among the plain fields of objects. They are only read.
final class FormerValues {
    /// In the order of their ids.
    private static final List<Class<?>> FROM_16 = List.of(BigInteger.class, BigDecimal.class, RoundingMode.class,
            UUID.class, URI.class, Path.class, Locale.class, Currency.class, Charset.class, OptionalInt.class,
            OptionalLong.class, OptionalDouble.class, TimeUnit.class);
    private static final List<Class<?>> FROM_32 = List.of(Instant.class, Duration.class, LocalDate.class,
            LocalTime.class, LocalDateTime.class, ZoneOffset.class, ZoneId.class, OffsetTime.class,
            OffsetDateTime.class, ZonedDateTime.class, Year.class, YearMonth.class, MonthDay.class, Period.class,
            DayOfWeek.class, Month.class, ChronoUnit.class, ChronoField.class);
    private static final List<Class<?>> FROM_64 = List.of(AtomicBoolean.class, AtomicInteger.class, AtomicLong.class,
            BitSet.class);

    private FormerValues() {}

    /// Registers them.
    ///
    /// @param kryo reads objects
    static void register(Kryo kryo) {
        // Those for which Kryo has no serializer by default, or one that loses something.
        Map<Class<?>, Serializer<?>> serializers = Map.of(UUID.class, new UUIDSerializer(),
                URI.class, new URISerializer(), Path.class, reader(in -> Path.of(in.readString())),
                Locale.class, reader(FormerValues::locale),
                ZonedDateTime.class, reader(in -> zonedDateTime(kryo, in)),
                AtomicBoolean.class, new AtomicBooleanSerializer(), AtomicInteger.class, new AtomicIntegerSerializer(),
                AtomicLong.class, new AtomicLongSerializer(), BitSet.class, new BitSetSerializer());
        register(kryo, 16, FROM_16, serializers);
        register(kryo, 32, FROM_32, serializers);
        register(kryo, 64, FROM_64, serializers);
    }

    private static void register(Kryo kryo, int id, List<Class<?>> types, Map<Class<?>, Serializer<?>> serializers) {
        for (int i = 0; i < types.size(); i++) {
            Class<?> type = types.get(i);
            Serializer<?> known = type.isEnum() ? NodeKryo.constants(type) : serializers.get(type);
            kryo.register(type, known == null ? kryo.getDefaultSerializer(type) : known, id + i);
        }
    }

    private static <T> Serializer<T> reader(Function<Input, T> reader) {
        return NodeKryo.serializer((_, _) -> {}, reader);
    }

    private static Locale locale(Input in) {
        return in.readBoolean()
                ? Locale.forLanguageTag(in.readString())
                : Locale.of(in.readString(), in.readString(), in.readString());
    }

    private static ZonedDateTime zonedDateTime(Kryo kryo, Input in) {
        LocalDateTime local = kryo.readObject(in, LocalDateTime.class);
        ZoneOffset offset = kryo.readObject(in, ZoneOffset.class);
        return ZonedDateTime.ofInstant(local, offset, kryo.readObject(in, ZoneId.class));
    }
}
