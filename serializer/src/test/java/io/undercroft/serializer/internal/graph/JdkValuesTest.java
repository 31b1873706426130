package io.undercroft.serializer.internal.graph;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.serializer.StateClasses;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
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
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class JdkValuesTest {
    private static final ZoneId PARIS = ZoneId.of("Europe/Paris");
    private static final LocalDateTime TWICE = LocalDateTime.of(2026, 10, 25, 2, 30);

    private final ObjectBytes bytes = new ObjectBytes(StateClasses.of());

    static Stream<Object> values() {
        return Stream.of((byte) -1, (short) -300, -70_000, Long.MIN_VALUE, 'é', '\uD800', true, false,
                1.5f, -0.0f, Float.NaN, 1.5, -0.0, Double.POSITIVE_INFINITY,
                BigInteger.ONE.shiftLeft(300).negate(), BigInteger.ZERO, BigDecimal.ZERO, BigDecimal.ONE,
                new BigDecimal("1.00"), new BigDecimal("-1e-2147483647"),
                new BigDecimal("123456789012345678901234567890.5"), RoundingMode.HALF_EVEN,
                new UUID(-1, 2), URI.create("https://example.org/a%20b?c#d"), URI.create(""),
                Path.of("/data/model.croft"), Path.of(""), Path.of("a/../b"),
                Locale.ROOT, Locale.US, Locale.forLanguageTag("zh-Hant-TW"), Locale.of("no", "NO", "NY"),
                Locale.forLanguageTag("de-DE-u-co-phonebk"), Locale.of("en", "US", "not a tag"),
                Currency.getInstance("EUR"), StandardCharsets.UTF_8, StandardCharsets.UTF_16LE,
                OptionalInt.empty(), OptionalInt.of(-7), OptionalLong.of(1L << 40), OptionalLong.empty(),
                OptionalDouble.empty(), OptionalDouble.of(-0.0), TimeUnit.DAYS,
                Instant.MIN, Instant.MAX, Instant.parse("2026-11-21T12:00:00.123456789Z"),
                Duration.ofSeconds(-1, 1), Duration.ofSeconds(Long.MIN_VALUE),
                Duration.ofSeconds(Long.MAX_VALUE, 999_999_999),
                LocalDate.MIN, LocalDate.MAX, LocalDate.EPOCH, LocalTime.MIN, LocalTime.MAX, LocalTime.NOON,
                LocalTime.of(1, 2, 3, 4), LocalDateTime.MIN, LocalDateTime.MAX, ZoneOffset.MIN, ZoneOffset.MAX,
                ZoneOffset.ofTotalSeconds(-1), ZoneOffset.UTC, PARIS, ZoneId.of("UTC+01:30"),
                OffsetTime.MIN, OffsetTime.MAX, OffsetDateTime.MIN, OffsetDateTime.MAX,
                TWICE.atZone(PARIS).withEarlierOffsetAtOverlap(), TWICE.atZone(PARIS).withLaterOffsetAtOverlap(),
                LocalDateTime.MAX.atZone(ZoneOffset.UTC), ZonedDateTime.of(LocalDateTime.MIN, ZoneOffset.MAX),
                Year.of(Year.MIN_VALUE), Year.of(Year.MAX_VALUE), YearMonth.of(-5, 2), MonthDay.of(2, 29),
                Period.of(-1, Integer.MIN_VALUE, Integer.MAX_VALUE), DayOfWeek.SUNDAY, Month.JANUARY,
                ChronoUnit.FOREVER, ChronoField.EPOCH_DAY,
                HijrahDate.of(1448, 1, 1), JapaneseDate.of(2026, 11, 21), MinguoDate.of(-3, 1, 1),
                ThaiBuddhistDate.of(2569, 1, 1));
    }

    static Stream<Arguments> mutableValues() {
        BitSet set = new BitSet();
        set.set(3);
        set.set(200);
        return Stream.of(Arguments.of(new AtomicBoolean(true), "true"), Arguments.of(new AtomicInteger(-1), "-1"),
                Arguments.of(new AtomicLong(Long.MAX_VALUE), Long.toString(Long.MAX_VALUE)),
                Arguments.of(set, "{3, 200}"), Arguments.of(new BitSet(), "{}"));
    }

    @ParameterizedTest
    @MethodSource("values")
    void aValueComesBack(Object value) {
        byte[] made = bytes.ofValue(value);
        Object back = bytes.value(ObjectBytes.valueClass(ObjectBytes.valueName(value.getClass())).orElseThrow(), made);
        assertThat(back).isEqualTo(value).hasSameHashCodeAs(value).hasToString(value.toString());
        assertThat(new ObjectBytes(StateClasses.of()).ofValue(back)).isEqualTo(made);
    }

    @ParameterizedTest
    @MethodSource("mutableValues")
    void aValueThatCanChangeComesBack(Object value, String text) {
        Object back = bytes.value(value.getClass(), bytes.ofValue(value));
        assertThat(back).isNotSameAs(value).hasToString(text);
    }

    @Test
    void everyClassOfValuesIsTested() {
        Set<String> tested = new HashSet<>();
        values().map(value -> ObjectBytes.valueName(value.getClass())).forEach(tested::add);
        mutableValues().map(value -> ObjectBytes.valueName(value.get()[0].getClass())).forEach(tested::add);
        for (JdkValues.Value<?> value : JdkValues.all()) {
            Class<?> boxed = value.type().isPrimitive()
                    ? java.lang.invoke.MethodType.methodType(value.type()).wrap().returnType()
                    : value.type();
            assertThat(tested).contains(boxed.getName());
        }
    }

    @Test
    void idsDiffer() {
        Set<Integer> ids = new HashSet<>();
        JdkValues.all().forEach(value -> assertThat(ids.add(value.id())).as(value.toString()).isTrue());
        assertThat(ids).doesNotContain(1, 9);
    }

    @Test
    void aNanKeepsItsBits() {
        double odd = Double.longBitsToDouble(0x7ff8_0000_dead_beefL);
        assertThat((Double) bytes.value(Double.class, bytes.ofValue(odd)))
                .satisfies(back -> assertThat(Double.doubleToRawLongBits(back)).isEqualTo(0x7ff8_0000_dead_beefL));
        assertThat((OptionalDouble) bytes.value(OptionalDouble.class, bytes.ofValue(OptionalDouble.of(odd))))
                .satisfies(back -> assertThat(Double.doubleToRawLongBits(back.getAsDouble()))
                        .isEqualTo(0x7ff8_0000_dead_beefL));
        float single = Float.intBitsToFloat(0x7fc0_beef);
        assertThat((Float) bytes.value(Float.class, bytes.ofValue(single)))
                .satisfies(back -> assertThat(Float.floatToRawIntBits(back)).isEqualTo(0x7fc0_beef));
    }

    /// What files hold; it must never change.
    @Test
    void bytesAreThoseOfTheFormat() {
        Map<Object, String> known = Map.ofEntries(
                Map.entry(-1, "01"), Map.entry(300L, "d804"), Map.entry(1.5, "000000000000f83f"),
                Map.entry(new UUID(1, 2), "01000000000000000200000000000000"),
                Map.entry(new BigDecimal("1.50"), "03009604"),
                Map.entry(Path.of("/a"), "2fe1"), Map.entry(Locale.US, "01656e2d55d3"),
                Map.entry(Instant.ofEpochSecond(1, 2), "0102"),
                Map.entry(Duration.ofSeconds(1, 2), "010000000000000002"),
                Map.entry(LocalDate.of(2026, 11, 21), "ea0f0b15"), Map.entry(ZoneOffset.UTC, "00"),
                Map.entry(TWICE.atZone(ZoneOffset.UTC), "ea0f0a1902e100825a"),
                Map.entry(Period.of(1, 2, 3), "010203"), Map.entry(Month.MAY, "4d41d9"));
        known.forEach((value, hex) -> assertThat(HexFormat.of().formatHex(bytes.ofValue(value)))
                .as(value.toString()).isEqualTo(hex));
    }

    @Test
    void aPathOfAnArchiveIsRefused(@TempDir Path directory) throws IOException {
        Path archive = directory.resolve("a.zip");
        try (FileSystem files = FileSystems.newFileSystem(archive, Map.of("create", "true"))) {
            Path inside = files.getPath("/x");
            assertThatIllegalArgumentException().isThrownBy(() -> bytes.ofValue(inside))
                    .withMessageContaining("default file system");
        }
    }

    @Test
    void whatIsNoValueIsNone() {
        assertThat(ObjectBytes.isValue(Pattern.class)).isFalse();
        assertThat(ObjectBytes.isValue(String.class)).isFalse();
        assertThat(ObjectBytes.isValue(Object.class)).isFalse();
        assertThat(ObjectBytes.valueClass("java.lang.Class")).isEmpty();
        assertThat(ObjectBytes.valueClass("java.util.regex.Pattern")).isEmpty();
        assertThat(ObjectBytes.valueClass(Path.of("").getClass().getName())).isEmpty();
    }
}
