package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
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
import java.time.temporal.ChronoField;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Currency;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.PriorityQueue;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// A file of the time when Kryo wrote the values of the JDK, and all collections of the JDK came back as what they
/// were, still opens.
class FormerFilesTest {
    private static final ZoneId PARIS = ZoneId.of("Europe/Paris");
    private static final LocalDateTime TWICE = LocalDateTime.of(2026, 10, 25, 2, 30);
    private static final List<Object> VALUES = List.of('é', '\uD800', BigInteger.ONE,
            BigInteger.valueOf(Long.MIN_VALUE), new BigDecimal("1.50"), new BigDecimal("-1e-2147483647"),
            RoundingMode.HALF_EVEN, new UUID(-1, 2), URI.create("https://example.org/a%20b?c#d"),
            Path.of("/data/model.croft"), Path.of(""), Locale.ROOT, Locale.US, Locale.forLanguageTag("zh-Hant-TW"),
            Locale.of("no", "NO", "NY"), Locale.of("en", "US", "not a tag"), Currency.getInstance("EUR"),
            StandardCharsets.UTF_16LE, OptionalInt.empty(), OptionalInt.of(-7), OptionalLong.of(1L << 40),
            OptionalLong.empty(), OptionalDouble.empty(), OptionalDouble.of(-0.0), TimeUnit.DAYS, Instant.MIN,
            Instant.MAX, Instant.parse("2026-11-21T12:00:00.123456789Z"), Duration.ofSeconds(-1, 1),
            Duration.ofSeconds(Long.MIN_VALUE), LocalDate.MIN, LocalDate.of(2026, 11, 21), LocalTime.of(1, 2, 3, 4),
            LocalTime.NOON, LocalDateTime.MAX, ZoneOffset.UTC, ZoneOffset.ofTotalSeconds(-1), PARIS,
            ZoneId.of("UTC+01:30"), OffsetTime.MIN, OffsetDateTime.MAX,
            TWICE.atZone(PARIS).withEarlierOffsetAtOverlap(), TWICE.atZone(PARIS).withLaterOffsetAtOverlap(),
            Year.of(Year.MIN_VALUE), Year.of(2026), YearMonth.of(-5, 2), YearMonth.of(12345, 1), MonthDay.of(2, 29),
            Period.of(-1, 2, 3), DayOfWeek.SUNDAY, Month.JANUARY, ChronoUnit.FOREVER, ChronoField.EPOCH_DAY);

    enum Mode {
        TRAIN, EVAL
    }

    /// The fields of the class whose object is in the file.
    static final class Holder {
        private int step;
        private String name = "";
        private float rate;
        private double loss;
        private char letter;
        private boolean open;
        private short s;
        private byte b;
        private long seen;
        private @Nullable Mode mode;
        private @Nullable BigDecimal exact;
        private @Nullable Instant at;
        private @Nullable Path path;
        private @Nullable Object none = "none";
        private @Nullable TimeUnit unit;
        private List<Object> held = List.of();
        private @Nullable Tensor weight;
        private @Nullable Object later;
        private @Nullable UUID id;
        private @Nullable Object boxed;
    }

    @TempDir
    Path directory;
    private Path file = Path.of("");

    @BeforeEach
    void copyTheFile() throws IOException {
        file = directory.resolve("former.croft");
        try (InputStream in = FormerFilesTest.class.getResourceAsStream("values-of-kryo.croft")) {
            Files.copy(Objects.requireNonNull(in), file);
        }
    }

    private Map<?, ?> state() throws IOException {
        StateClasses classes = StateClasses.of().named("holder", Holder.class).named("mode", Mode.class);
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().classes(classes))) {
            return c.state(Map.class);
        }
    }

    @Test
    void valuesOfKryoComeBack() throws IOException {
        assertThat(state().get("values")).isEqualTo(VALUES);
        assertThat(state().get("mutable")).hasToString("[true, -1, " + Long.MAX_VALUE + ", {3, 200}]");
        assertThat(state().get("keys")).isEqualTo(Map.of(Instant.EPOCH, 1, Mode.TRAIN, 2));
        assertThat(state().get("array")).isEqualTo(new Instant[]{Instant.EPOCH});
    }

    @Test
    void plainFieldsThatWereValuesOfKryoComeBack() throws IOException {
        Holder holder = (Holder) Objects.requireNonNull(state().get("holder"));
        assertThat(List.of(holder.step, holder.name, Float.floatToRawIntBits(holder.rate), holder.loss, holder.letter,
                holder.open, holder.s, holder.b, holder.seen))
                .isEqualTo(List.of(3, "holder", 0x7fc0_beef, 0.5, '\uD800', true, (short) -3, (byte) -1, 1L << 40));
        assertThat(Arrays.asList(holder.mode, holder.exact, holder.at, holder.path, holder.none, holder.unit,
                holder.held, holder.later, holder.id, holder.boxed))
                .isEqualTo(Arrays.asList(Mode.EVAL, new BigDecimal("0.125"), Instant.ofEpochSecond(7, 9),
                        Path.of("data/train"), null, TimeUnit.DAYS, List.of(1),
                        TWICE.atZone(PARIS).withLaterOffsetAtOverlap(), new UUID(1, 2), 7));
        assertThat(holder.weight).isNotNull();
    }

    @Test
    void collectionsThatAreNotSavedAnyMoreComeBackAsOthers() throws IOException {
        List<?> collections = (List<?>) Objects.requireNonNull(state().get("collections"));
        assertThat(collections.stream().map(Object::getClass).map(type -> (Object) type)).containsExactly(
                ArrayList.class, ArrayList.class, TreeMap.class, TreeSet.class, LinkedHashSet.class, ArrayDeque.class,
                ArrayDeque.class, ArrayDeque.class, ArrayDeque.class, PriorityQueue.class);
        assertThat(collections.getFirst()).isEqualTo(Arrays.asList(1, null));
        assertThat(collections.get(2)).isEqualTo(Map.of("a", 1, "b", 2));
        assertThat((Collection<?>) collections.getLast()).hasSize(2).first().isEqualTo(1);
    }

    @Test
    void itIsSavedAgainAsPlainValues() throws IOException {
        Object values = state().get("values");
        Path again = directory.resolve("again.croft");
        List<Object> kept = new ArrayList<>((List<?>) Objects.requireNonNull(values));
        // Language tags do not say all of these.
        kept.removeAll(List.of(Locale.of("en", "US", "not a tag"), Locale.of("no", "NO", "NY")));
        Checkpoint.save(again, kept);
        try (Checkpoint c = Checkpoint.open(again)) {
            assertThat(c.state()).isEqualTo(kept);
            assertThat(Objects.requireNonNull(c.tree()).toString())
                    .contains("java:java.time.Instant(2026-11-21T12:00:00.123456789Z)").doesNotContain("kryo");
        }
    }
}
