package io.undercroft.serializer.internal.graph;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.Serializer;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.AtomicBooleanSerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.AtomicIntegerSerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.AtomicLongSerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.URISerializer;
import com.esotericsoftware.kryo.serializers.DefaultSerializers.UUIDSerializer;
import java.net.URI;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Stream;

/// Values of the JDK as Kryo wrote them before [JdkValues] made plain values of them. Old files contain them in the
/// attribute `kryo` of a node and among the plain fields of objects. They are only read.
final class FormerValues {
    /// In the order of their ids.
    private static final List<String> FROM_16 = List.of("java.math.BigInteger", "java.math.BigDecimal",
            "java.math.RoundingMode", "java.util.UUID", "java.net.URI", "java.nio.file.Path", "java.util.Locale",
            "java.util.Currency", "java.nio.charset.Charset", "java.util.OptionalInt", "java.util.OptionalLong",
            "java.util.OptionalDouble", "java.util.concurrent.TimeUnit");
    private static final List<String> FROM_32 = Stream.of("Instant", "Duration", "LocalDate", "LocalTime",
            "LocalDateTime", "ZoneOffset", "ZoneId", "OffsetTime", "OffsetDateTime", "ZonedDateTime", "Year",
            "YearMonth", "MonthDay", "Period", "DayOfWeek", "Month", "temporal.ChronoUnit", "temporal.ChronoField")
            .map("java.time."::concat).toList();
    private static final List<String> FROM_64 = List.of("java.util.concurrent.atomic.AtomicBoolean",
            "java.util.concurrent.atomic.AtomicInteger", "java.util.concurrent.atomic.AtomicLong", "java.util.BitSet");

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
                AtomicLong.class, new AtomicLongSerializer());
        register(kryo, 16, FROM_16, serializers);
        register(kryo, 32, FROM_32, serializers);
        register(kryo, 64, FROM_64, serializers);
    }

    private static void register(Kryo kryo, int id, List<String> names, Map<Class<?>, Serializer<?>> serializers) {
        for (int i = 0; i < names.size(); i++) {
            Class<?> type = JdkValues.named(names.get(i)).orElseThrow();
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
