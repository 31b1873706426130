package io.undercroft.serializer.internal.graph;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.MonthDay;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.Period;
import java.time.Year;
import java.time.YearMonth;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.BitSet;
import java.util.Currency;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class JdkValuesTest {
    private static final ZoneId PARIS = ZoneId.of("Europe/Paris");
    private static final LocalDateTime TWICE = LocalDateTime.of(2026, 10, 25, 2, 30);

    static Stream<Object> values() {
        return Stream.of('é', '\uD800', BigInteger.valueOf(Long.MIN_VALUE), BigInteger.ZERO, BigDecimal.ZERO,
                BigDecimal.ONE,
                new BigDecimal("1.00"), new BigDecimal("-1e-2147483647"),
                new BigDecimal("123456789012345678901234567890.5"),
                new UUID(-1, 2), URI.create("https://example.org/a%20b?c#d"), URI.create(""),
                Path.of("/data/model.croft"), Path.of(""), Path.of("a/../b"),
                Locale.ROOT, Locale.US, Locale.forLanguageTag("zh-Hant-TW"),
                Locale.forLanguageTag("de-DE-u-co-phonebk"), Locale.of("ja", "JP", "JP"),
                Currency.getInstance("EUR"), StandardCharsets.UTF_8, StandardCharsets.UTF_16LE,
                OptionalInt.empty(), OptionalInt.of(-7), OptionalLong.of(1L << 40), OptionalLong.empty(),
                OptionalDouble.empty(), OptionalDouble.of(-0.0),
                Instant.MIN, Instant.MAX, Instant.parse("2026-11-21T12:00:00.123456789Z"),
                Duration.ofSeconds(-1, 1), Duration.ofSeconds(Long.MIN_VALUE),
                Duration.ofSeconds(Long.MAX_VALUE, 999_999_999),
                LocalDate.MIN, LocalDate.MAX, LocalDate.EPOCH, LocalTime.MIN, LocalTime.MAX, LocalTime.NOON,
                LocalTime.of(1, 2, 3, 4), LocalDateTime.MIN, LocalDateTime.MAX, ZoneOffset.MIN, ZoneOffset.MAX,
                ZoneOffset.ofTotalSeconds(-1), ZoneOffset.UTC, PARIS, ZoneId.of("UTC+01:30"),
                OffsetTime.MIN, OffsetTime.MAX, OffsetDateTime.MIN, OffsetDateTime.MAX,
                TWICE.atZone(PARIS).withEarlierOffsetAtOverlap(), TWICE.atZone(PARIS).withLaterOffsetAtOverlap(),
                LocalDateTime.MAX.atZone(ZoneOffset.UTC), ZonedDateTime.of(LocalDateTime.MIN, ZoneOffset.MAX),
                Year.of(Year.MIN_VALUE), Year.of(Year.MAX_VALUE), YearMonth.of(-5, 2), YearMonth.of(-12345, 3),
                YearMonth.of(Year.MAX_VALUE, 1), MonthDay.of(2, 29),
                Period.of(-1, Integer.MIN_VALUE, Integer.MAX_VALUE));
    }

    static Stream<Arguments> mutableValues() {
        BitSet set = new BitSet();
        set.set(3);
        set.set(200);
        return Stream.of(Arguments.of(new AtomicBoolean(true), "true"), Arguments.of(new AtomicInteger(-1), "-1"),
                Arguments.of(new AtomicLong(Long.MAX_VALUE), Long.toString(Long.MAX_VALUE)),
                Arguments.of(set, "{3, 200}"), Arguments.of(new BitSet(), "{}"));
    }

    private static Object again(Object value) {
        Class<?> type = JdkValues.typeOf(value.getClass()).orElseThrow();
        assertThat(JdkValues.named(type.getName())).contains(type);
        return JdkValues.decode(type, JdkValues.encode(type, value));
    }

    @ParameterizedTest
    @MethodSource("values")
    void aValueComesBack(Object value) {
        assertThat(again(value)).isEqualTo(value).hasSameHashCodeAs(value).hasToString(value.toString());
    }

    @ParameterizedTest
    @MethodSource("mutableValues")
    void aValueThatCanChangeComesBack(Object value, String text) {
        assertThat(again(value)).isNotSameAs(value).hasToString(text);
    }

    /// What files hold; it must never change.
    @Test
    void plainValuesAreThoseOfTheFormat() {
        BitSet bits = BitSet.valueOf(new byte[]{8, 1});
        Map<Object, Object> known = Map.ofEntries(Map.entry(new UUID(1, 2), "00000000-0000-0001-0000-000000000002"),
                Map.entry(new BigDecimal("1.50"), "1.50"), Map.entry(BigInteger.TWO, 2L), Map.entry('x', 120),
                Map.entry(Path.of("/a"), "/a"), Map.entry(Locale.US, "en-US"), Map.entry(URI.create("a:b"), "a:b"),
                Map.entry(StandardCharsets.UTF_8, "UTF-8"), Map.entry(Currency.getInstance("EUR"), "EUR"),
                Map.entry(Instant.ofEpochSecond(1, 2), "1970-01-01T00:00:01.000000002Z"),
                Map.entry(Duration.ofSeconds(1, 2), "PT1.000000002S"),
                Map.entry(LocalDate.of(2026, 11, 21), "2026-11-21"), Map.entry(ZoneOffset.UTC, "Z"),
                Map.entry(TWICE.atZone(PARIS), "2026-10-25T02:30+02:00[Europe/Paris]"), Map.entry(Year.of(7), 7),
                Map.entry(YearMonth.of(12345, 1), "+12345-01"), Map.entry(Period.of(1, 2, 3), "P1Y2M3D"),
                Map.entry(OptionalInt.of(3), List.of(3)), Map.entry(OptionalDouble.empty(), List.of()),
                Map.entry(bits, new byte[]{8, 1}));
        known.forEach((value, plain) -> assertThat(
                JdkValues.encode(JdkValues.typeOf(value.getClass()).orElseThrow(), value)).isEqualTo(plain));
    }

    @Test
    void aNanKeepsItsBits() {
        double odd = Double.longBitsToDouble(0x7ff8_0000_dead_beefL);
        assertThat(Double.doubleToRawLongBits(((OptionalDouble) again(OptionalDouble.of(odd))).getAsDouble()))
                .isEqualTo(0x7ff8_0000_dead_beefL);
    }

    @Test
    void whatWouldNotComeBackFromItsTextIsRefused(@TempDir Path directory) throws IOException {
        Path archive = directory.resolve("a.zip");
        try (FileSystem files = FileSystems.newFileSystem(archive, Map.of("create", "true"))) {
            Path inside = files.getPath("/x");
            assertThatIllegalArgumentException().isThrownBy(() -> again(inside))
                    .withMessageContaining("cannot be restored from its text");
        }
        for (Locale locale : List.of(Locale.of("en", "US", "not a tag"), Locale.of("no", "NO", "NY"))) {
            assertThatIllegalArgumentException().isThrownBy(() -> again(locale))
                    .withMessageContaining("cannot be restored");
        }
        assertThatIllegalArgumentException().isThrownBy(() -> again(new BigDecimal(BigInteger.TEN.pow(2000), 5)))
                .withMessageContaining("takes too long to read");
    }

    @ParameterizedTest
    @MethodSource("noValues")
    void whatIsSavedOfNoValueIsRefused(Class<?> type, @Nullable Object saved) {
        assertThatExceptionOfType(RuntimeException.class).isThrownBy(() -> JdkValues.decode(type, saved));
    }

    static Stream<Arguments> noValues() {
        return Stream.of(Arguments.of(Instant.class, null), Arguments.of(Instant.class, 1L),
                Arguments.of(Instant.class, "yesterday"), Arguments.of(BigInteger.class, "1"),
                Arguments.of(Character.class, 65_536), Arguments.of(AtomicInteger.class, 1L << 32),
                Arguments.of(OptionalInt.class, List.of(1, 2)), Arguments.of(OptionalLong.class, List.of("1")),
                Arguments.of(BigDecimal.class, "1".repeat(2000)));
    }

    @Test
    void whatIsNoValueIsNone() {
        assertThat(JdkValues.typeOf(Pattern.class)).isEmpty();
        assertThat(JdkValues.typeOf(String.class)).isEmpty();
        assertThat(JdkValues.typeOf(Object.class)).isEmpty();
        assertThat(JdkValues.named("java.lang.Class")).isEmpty();
        assertThat(JdkValues.named("java.util.regex.Pattern")).isEmpty();
        assertThat(JdkValues.named(Path.of("").getClass().getName())).isEmpty();
    }
}
