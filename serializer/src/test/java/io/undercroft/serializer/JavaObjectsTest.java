package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.state.TensorNodes;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.DType;
import io.undercroft.storage.QuantizedTensor;
import io.undercroft.storage.Quantizer;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.chrono.ThaiBuddhistDate;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.PriorityQueue;
import java.util.Properties;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.Stack;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Java objects around tensors come back as they were, and shared as they were.
class JavaObjectsTest {
    @TempDir
    Path directory;

    private static final StateClasses CLASSES = StateClasses.of(Schedule.class, Trainer.class, Adam.class,
            RandomState.class, Phase.class, Node.class, Pair.class, Layer.class, Numbers.class);

    enum Phase {
        WARM_UP, TRAIN {
            @Override
            boolean isLong() {
                return true;
            }
        };

        boolean isLong() {
            return false;
        }
    }

    sealed interface Schedule {
        record Constant(double rate) implements Schedule {}

        record Cosine(double rate, int steps, Optional<Schedule> after) implements Schedule {}

        final class Custom implements Schedule {
            private final List<Tensor> rates = new ArrayList<>();
            private transient int cache = 7;
            private String note = "";
        }
    }

    record RandomState(long seed, Tensor words) {}

    record Pair(@Nullable Object left, @Nullable Object right) {}

    record Numbers(byte b, short s, int i, long l, float f, double d, char c, boolean z, BigInteger big,
            Integer boxed) {}

    static final class Adam {
        private final Map<Integer, Tensor> momenta = new LinkedHashMap<>();
        private final List<Tensor> parameters = new ArrayList<>();
        private double beta = 0.9;
        private @Nullable Trainer owner;
        private RandomState rng = new RandomState(0, Tensor.of(0f));
        private Instant started = Instant.EPOCH;
    }

    record Trainer(long step, Adam optimizer, EnumMap<Phase, Schedule> schedules, Instant at, Path data,
            List<@Nullable Object> callbacks, Map<String, Tensor> model) {}

    record Layer(List<Layer> inputs, Tensor weight) {}

    @SuppressWarnings("UnusedVariable") // Compared by reflection.
    static final class Plain {
        private int step;
        private @Nullable String name;
        private @Nullable String note = "made";
        private float rate;
        private double nan;
        private char letter;
        private @Nullable Phase phase;
        private @Nullable Object any;
        private List<Long> losses = List.of();

        static Plain filled() {
            Plain plain = new Plain();
            plain.step = 7;
            plain.name = "adam";
            plain.note = null;
            plain.rate = Float.intBitsToFloat(0x7fc0_beef);
            plain.nan = Double.longBitsToDouble(0x7ff8_0000_dead_beefL);
            plain.letter = 'x';
            plain.phase = Phase.TRAIN;
            plain.any = (short) 2;
            plain.losses = List.of(1L, 2L);
            return plain;
        }
    }

    static final class Node {
        private @Nullable Node next;
        private @Nullable Object value;
    }

    @Test
    void theTreeShowsTheClassAndTheFieldsOfAnObject() throws IOException {
        Path path = directory.resolve("plain.croft");
        StateClasses classes = StateClasses.of(Plain.class, Phase.class);
        Checkpoint.save(path, Plain.filled(), SaveOptions.defaults().classes(classes));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.value("step")).isEqualTo(7);
            assertThat(c.value("name")).isEqualTo("adam");
            assertThat(String.valueOf(c.tree())).startsWith("java:")
                    .endsWith("Plain{any=2, letter=java:java.lang.Character(120), losses=[1, 2], name=adam, nan=NaN,"
                            + " note=null, phase=java:" + Phase.class.getName() + "(TRAIN), rate=NaN, step=7}");
        }
    }

    @Test
    void fieldsKeepTheirClassesAndTheBitsOfTheirNumbers() throws IOException {
        Plain plain = Plain.filled();
        Plain back = (Plain) again(plain, StateClasses.of(Plain.class, Phase.class));
        assertThat(back).usingRecursiveComparison().ignoringFields("rate", "nan").isEqualTo(plain);
        assertThat(Float.floatToRawIntBits(back.rate)).isEqualTo(Float.floatToRawIntBits(plain.rate));
        assertThat(Double.doubleToRawLongBits(back.nan)).isEqualTo(Double.doubleToRawLongBits(plain.nan));
        assertThat(back.any).isInstanceOf(Short.class);
        assertThat(back.phase).isSameAs(Phase.TRAIN);
    }

    private @Nullable Object again(@Nullable Object state) throws IOException {
        return again(state, CLASSES);
    }

    private @Nullable Object again(@Nullable Object state, StateClasses classes) throws IOException {
        Path path = directory.resolve(UUID.randomUUID() + ".croft");
        Checkpoint.save(path, state, SaveOptions.defaults().classes(classes));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(classes))) {
            Object decoded = c.state();
            assertThat(c.state()).isSameAs(decoded);
            assertThat(c.verify().damages()).isEmpty();
            return decoded;
        }
    }

    static Stream<Object> values() {
        return Stream.of(Instant.ofEpochSecond(7, 9), Duration.ofMillis(-3), UUID.randomUUID(), URI.create("a:b"),
                Path.of("data", "train"), Locale.CANADA_FRENCH, new BigDecimal("1.50"), BigInteger.TEN,
                BigInteger.TWO.pow(100), 'x', TimeUnit.DAYS, Phase.TRAIN, Phase.WARM_UP, OptionalInt.of(3),
                ZonedDateTime.of(2026, 10, 25, 2, 30, 0, 0, ZoneId.of("Europe/Berlin")), Optional.empty(),
                Optional.of(List.of(1, 2L)), new RandomState(4, Tensor.of(1f)).seed(),
                new Schedule.Constant(0.5), new Schedule.Cosine(0.1, 7, Optional.of(new Schedule.Constant(1))),
                new Numbers((byte) -1, (short) 2, -3, 4, 0.5f, Double.NaN, 'ß', true, BigInteger.ONE, 6));
    }

    @ParameterizedTest
    @MethodSource("values")
    void aValueComesBackEqual(Object value) throws IOException {
        assertThat(again(value)).isEqualTo(value).hasSameClassAs(value);
        assertThat(again(List.of(Map.of("value", value)))).isEqualTo(List.of(Map.of("value", value)));
    }

    static Stream<Arguments> arrays() {
        return Stream.<Object>of(new int[]{1, -2}, new float[]{0.5f, Float.NaN}, new long[0], new double[]{-0.0},
                new short[]{7}, new char[]{'ß', '\uD800'}, new boolean[]{true, false}, new byte[]{1, 2},
                new String[]{"a", null}, new float[][]{{1}, {}, null}, new Object[]{1, "a", List.of()},
                new Phase[]{Phase.TRAIN}, new Schedule[]{new Schedule.Constant(2)}, new Instant[]{Instant.EPOCH},
                new BigInteger[]{BigInteger.ONE}, new byte[][]{{1}, {2, 3}}).map(Arguments::of);
    }

    @ParameterizedTest
    @MethodSource("arrays")
    void anArrayComesBackWithItsClass(Object array) throws IOException {
        Object back = again(Map.of("array", array));
        assertThat(((Map<?, ?>) back).get("array")).hasSameClassAs(array);
        assertThat(Arrays.deepEquals(new Object[]{((Map<?, ?>) back).get("array")}, new Object[]{array})).isTrue();
    }

    @SuppressWarnings("JdkObsolete") // What programs have, they want back.
    static Stream<Object> collections() {
        Map<Object, Object> ofRecords = new HashMap<>(Map.of(new Schedule.Constant(1), "one", "plain", 2));
        TreeMap<String, Integer> reversed = new TreeMap<>(Comparator.reverseOrder());
        reversed.putAll(Map.of("a", 1, "b", 2));
        EnumMap<Phase, Object> phases = new EnumMap<>(Map.of(Phase.TRAIN, List.of(1)));
        return Stream.of(new TreeMap<>(Map.of(2, "b", 1, "a")), reversed, phases, new EnumMap<>(Phase.class),
                EnumSet.of(Phase.TRAIN), EnumSet.noneOf(Phase.class), EnumSet.of(TimeUnit.DAYS),
                new TreeSet<>(Set.of("b", "a")), new LinkedList<>(Arrays.asList(1, null)),
                new ConcurrentHashMap<>(Map.of("a", 1)), new CopyOnWriteArrayList<>(List.of(1)),
                new TreeMap<>(Map.of(Instant.EPOCH, 1, Instant.MAX, 2)), new TreeSet<>(List.of(BigInteger.ONE)),
                ofRecords, Map.of(Phase.WARM_UP, 1), Set.of(new Schedule.Constant(1), "a"),
                Map.of(List.of(1), 2), Set.of(Optional.of("a")), new HashMap<>(Map.of(1L, "a", BigInteger.ONE, "b")),
                Map.of(Tuple.of(1, "a"), 2), Map.of(Tuple.of(Instant.EPOCH), 3));
    }

    @ParameterizedTest
    @MethodSource("collections")
    void aCollectionComesBackEqualAndOfItsClassWhereThatMatters(Object collection) throws IOException {
        Object back = again(List.of(collection));
        assertThat(back).isEqualTo(List.of(collection));
        Object made = ((List<?>) back).getFirst();
        if (!collection.getClass().getName().matches(".*(Immutable|java.util.HashMap).*")) {
            assertThat(made).hasSameClassAs(collection);
        }
        assertThat(made.toString()).isEqualTo(ordered(collection).toString());
    }

    /// The order in which the JDK's immutable collections and hash maps have their elements is theirs.
    private static Object ordered(Object collection) {
        return collection instanceof Map<?, ?> map && !(map instanceof ConcurrentHashMap)
                ? new LinkedHashMap<>(map)
                : collection;
    }

    @Test
    void queuesComeBackInTheirOrder() throws IOException {
        PriorityQueue<Integer> queue = new PriorityQueue<>(Comparator.reverseOrder());
        queue.addAll(List.of(3, 9, 1, 7, 7));
        List<?> back = (List<?>) again(List.of(queue, new ArrayDeque<>(List.of(1, 2))));
        PriorityQueue<?> made = (PriorityQueue<?>) back.getFirst();
        assertThat(Stream.generate(made::poll).limit(5).toList()).isEqualTo(List.of(9, 7, 7, 3, 1));
        assertThat((ArrayDeque<?>) back.get(1)).isInstanceOf(ArrayDeque.class).hasSize(2).first().isEqualTo(1);
    }

    @Test
    void immutableAndUnmodifiableCollectionsComeBackEqual() throws IOException {
        List<Object> state = List.of(List.of(1), Collections.unmodifiableList(new ArrayList<>(List.of(2))),
                Collections.unmodifiableMap(new TreeMap<>(Map.of("a", 1))), Map.of(), Set.of(3),
                Collections.emptyList(), Collections.singleton(4), Map.of("a", 1).values().stream().toList(),
                new HashMap<>(Map.of("k", 1)).keySet(), Arrays.asList(5, 6));
        assertThat(again(state)).isEqualTo(state);
    }

    private Trainer trainer() {
        Tensor embed = Tensor.zeros(DType.FLOAT32, 4, 2);
        Adam adam = new Adam();
        adam.parameters.add(embed);
        adam.momenta.put(7, Tensor.of(1f, 2f));
        adam.rng = new RandomState(42, Tensor.of(3f));
        adam.started = Instant.ofEpochSecond(5);
        Schedule.Custom custom = new Schedule.Custom();
        custom.rates.add(embed);
        custom.note = "half";
        custom.cache = 9;
        EnumMap<Phase, Schedule> schedules = new EnumMap<>(Phase.class);
        schedules.put(Phase.TRAIN, custom);
        schedules.put(Phase.WARM_UP, new Schedule.Cosine(0.5, 10, Optional.empty()));
        Map<String, Tensor> model = new LinkedHashMap<>();
        model.put("wte", embed);
        model.put("head", embed);
        model.put("row", embed.select(0, 1));
        List<Object> callbacks = new ArrayList<>();
        Trainer trainer = new Trainer(2000, adam, schedules, Instant.ofEpochMilli(99), Path.of("corpus"), callbacks,
                model);
        callbacks.add(trainer);
        callbacks.add(callbacks);
        callbacks.add(custom);
        adam.owner = trainer;
        return trainer;
    }

    private static void assertIsTrainer(Trainer back) {
        Tensor embed = back.model().get("wte");
        assertThat(back.step()).isEqualTo(2000);
        assertThat(back.at()).isEqualTo(Instant.ofEpochMilli(99));
        assertThat(back.data()).isEqualTo(Path.of("corpus"));
        assertThat(back.model().get("head")).isSameAs(embed);
        assertThat(back.model().get("row").storage()).isSameAs(embed.storage());
        assertThat(back.optimizer().parameters).containsExactly(embed);
        assertThat(back.optimizer().momenta.get(7).getFloat(1)).isEqualTo(2f);
        assertThat(back.optimizer().owner).isSameAs(back);
        assertThat(back.optimizer().beta).isEqualTo(0.9);
        assertThat(back.optimizer().rng.seed()).isEqualTo(42);
        assertThat(back.optimizer().started).isEqualTo(Instant.ofEpochSecond(5));
        assertThat(back.schedules()).isInstanceOf(EnumMap.class).containsOnlyKeys(Phase.values());
        Schedule.Custom custom = (Schedule.Custom) back.schedules().get(Phase.TRAIN);
        assertThat(custom.note).isEqualTo("half");
        assertThat(custom.rates.getFirst()).isSameAs(embed);
        assertThat(custom.cache).isEqualTo(7);
        assertThat(back.callbacks().get(0)).isSameAs(back);
        assertThat(back.callbacks().get(1)).isSameAs(back.callbacks());
        assertThat(back.callbacks().get(2)).isSameAs(custom);
    }

    @Test
    void aTrainingStateComesBackEqualAndIdenticallyShared() throws IOException {
        Path path = directory.resolve("trainer.croft");
        Checkpoint.save(path, trainer(), SaveOptions.defaults().classes(CLASSES));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(CLASSES))) {
            Trainer back = c.state(Trainer.class);
            assertIsTrainer(back);
            assertThat(c.names()).contains("model/wte", "model/head", "model/row", "optimizer/momenta/7",
                    "optimizer/rng/words", "schedules/TRAIN/rates/0");
            assertThat(c.tensor("model/wte")).isSameAs(back.model().get("wte"));
        }
    }

    @Test
    void itIsAppendedExportedCompactedCopiedAndVerifiedAsAnyState() throws IOException {
        Path path = directory.resolve("trainer.croft");
        Path exported = directory.resolve("exported.croft");
        Path copied = directory.resolve("copied.croft");
        SaveOptions saving = SaveOptions.defaults().classes(CLASSES);
        Checkpoint.save(path, Map.of("step", 0));
        CroftFile.open(path).commit(trainer(), saving);
        CroftFile.open(path).commit(trainer(), saving);
        CroftFile.open(path).copy(exported, 2);
        CroftFile.open(path).compact(snapshot -> snapshot.sequence() == 3);
        try (Checkpoint c = Checkpoint.open(path)) {
            Checkpoint.save(copied, c.tree());
        }
        for (Path file : List.of(path, exported, copied)) {
            try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().classes(CLASSES))) {
                assertIsTrainer(c.state(Trainer.class));
                assertThat(c.verify().damages()).isEmpty();
            }
        }
        Path again = directory.resolve("again.croft");
        try (Checkpoint c = Checkpoint.open(exported)) {
            Checkpoint.save(again, c.tree());
        }
        assertThat(copied).hasSameBinaryContentAs(again);
    }

    @Test
    void aFileOfUnknownClassesStillGivesItsTensorsAndItsTree() throws IOException {
        Path path = directory.resolve("trainer.croft");
        Checkpoint.save(path, trainer(), SaveOptions.defaults().classes(CLASSES));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.tensor("optimizer/rng/words").getFloat(0)).isEqualTo(3f);
            assertThat(c.names()).hasSizeGreaterThan(6);
            assertThat(c.tree()).isInstanceOf(Map.class);
            assertThat(((Map<?, ?>) c.tree()).get("step")).isEqualTo(2000L);
            assertThat(c.verify().damages()).isEmpty();
        }
    }

    @Test
    void listsMapsSetsArraysAndObjectsThatStandTwiceComeBackAsOne() throws IOException {
        for (Object shared : List.of(new ArrayList<>(List.of(1)), new LinkedHashMap<>(Map.of("a", 1)),
                new LinkedHashSet<>(Set.of(2)), new TreeMap<>(Map.of("a", 1)), new int[]{1}, new Object[]{"x"},
                new Adam(), new Pair(1, 2), Optional.of("v"), new ArrayDeque<>(List.of(1)), EnumSet.of(Phase.TRAIN),
                new AtomicLong(5), Tuple.of(1), new HashMap<>(Map.of(new Pair(1, 1), 2)))) {
            Pair back = (Pair) again(new Pair(shared, List.of(shared)));
            assertThat(((List<?>) back.right()).getFirst()).as("%s", shared.getClass()).isSameAs(back.left());
        }
    }

    static Stream<Function<Object, Object>> holders() {
        return Stream.of(held -> new ArrayList<>(List.of(held)), held -> new LinkedHashMap<>(Map.of("a", held)),
                held -> new Object[]{held}, held -> new ArrayDeque<>(List.of(held)),
                held -> new TreeMap<>(Map.of(1, held)), held -> new ConcurrentHashMap<>(Map.of(1, held)),
                held -> new EnumMap<>(Map.of(Phase.TRAIN, held)), held -> new HashMap<>(Map.of(List.of(), held)));
    }

    @ParameterizedTest
    @MethodSource("holders")
    void cyclesThroughRecordsAndWhatHoldsThemClose(Function<Object, Object> holder) throws IOException {
        List<Object> knot = new ArrayList<>();
        Pair pair = new Pair(Optional.of(holder.apply(knot)), knot);
        knot.add(pair);
        Pair back = (Pair) again(pair);
        List<?> untied = (List<?>) back.right();
        assertThat(untied.getFirst()).isSameAs(back);
        Object holding = ((Optional<?>) back.left()).orElseThrow();
        Object held = switch (holding) {
            case Map<?, ?> map -> map.values().iterator().next();
            case Collection<?> elements -> elements.iterator().next();
            case Object array -> ((Object[]) array)[0];
        };
        assertThat(held).isSameAs(untied);
    }

    @Test
    void objectsThatHoldThemselvesAndEachOtherComeBack() throws IOException {
        Node first = new Node();
        Node second = new Node();
        first.next = second;
        second.next = first;
        first.value = first;
        second.value = new Pair(first, second);
        Node back = (Node) again(first);
        assertThat(back.value).isSameAs(back);
        assertThat(back.next.next).isSameAs(back);
        assertThat(back.next.value).isEqualTo(new Pair(back, back.next));
    }

    @Test
    void aRecordsConstructorSeesWhatItHoldsUnlessThatHoldsTheRecord() throws IOException {
        StateClasses classes = StateClasses.of(Frozen.class, Pair.class);
        List<Object> ring = new ArrayList<>();
        Map<Object, Object> counted = new HashMap<>(Map.of(new Pair("k", List.of(1)), 1));
        Frozen frozen = new Frozen(List.of(List.of(1), 2), counted);
        ring.add(new Pair(frozen, ring));
        Frozen back = (Frozen) ((Pair) ((List<?>) again(ring, classes)).getFirst()).left();
        assertThat(back).isEqualTo(frozen);
        assertThat(back.counted().get(new Pair("k", List.of(1)))).isEqualTo(1);
    }

    /// A record that copies what it gets.
    record Frozen(List<Object> list, Map<Object, Object> counted) {
        Frozen {
            list = List.copyOf(list);
            counted = Map.copyOf(counted);
        }
    }

    @Test
    void aKeyIsHashedWhenAllThatItHoldsIsThere() throws IOException {
        List<Object> inner = new ArrayList<>(List.of("x"));
        Pair key = new Pair(inner, "k");
        Map<Object, Object> map = new HashMap<>();
        map.put(key, "found");
        List<Object> root = new ArrayList<>(List.of(map, inner));
        map.put("root", root);
        Map<?, ?> back = (Map<?, ?>) ((List<?>) again(root)).getFirst();
        assertThat(back.get(new Pair(List.of("x"), "k"))).isEqualTo("found");
    }

    @Test
    void quantizedTensorsComeBackAsTheirNodes() throws IOException {
        QuantizedTensor tensor = new QuantizedTensor(Tensor.of(new byte[]{5, 7}).view(DType.QINT8),
                new Quantizer.PerTensor(0.5, 3));
        Path path = directory.resolve("quantized.croft");
        Checkpoint.save(path, new Pair(tensor, null), SaveOptions.defaults().classes(CLASSES));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(CLASSES))) {
            Typed node = (Typed) c.state(Pair.class).left();
            assertThat(TensorNodes.quantized(node).orElseThrow().dequantize().getFloat(1)).isEqualTo(2f);
        }
    }

    @Test
    void aPlainStateHasTheSameBytesWithAndWithoutClasses() throws IOException {
        Object state = Map.of("a", List.of(1, Tensor.of(1f)));
        Checkpoint.save(directory.resolve("without.croft"), state);
        Checkpoint.save(directory.resolve("with.croft"), state, SaveOptions.defaults().classes(CLASSES));
        assertThat(directory.resolve("with.croft")).hasSameBinaryContentAs(directory.resolve("without.croft"));
    }

    record Sorted(SortedMap<String, Integer> map, SortedSet<Integer> set) {}

    record Typings(@Nullable Properties properties, @Nullable LinkedList<Integer> list,
            @Nullable QuantizedTensor tensor) {}

    static final class Settings {
        private final Properties properties = new Properties();
    }

    @Test
    void viewsOfSortedCollectionsComeBackSorted() throws IOException {
        TreeMap<String, Integer> map = new TreeMap<>(Map.of("a", 1, "b", 2, "c", 3));
        Sorted state = new Sorted(map.headMap("c", false).descendingMap(),
                Collections.unmodifiableSortedSet(new TreeSet<>(Set.of(2, 1))));
        StateClasses classes = StateClasses.of(Sorted.class);
        Path path = directory.resolve("sorted.croft");
        Checkpoint.save(path, state, SaveOptions.defaults().classes(classes));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(classes))) {
            Sorted back = c.state(Sorted.class);
            assertThat(back).isEqualTo(state);
            assertThat(back.map().firstKey()).isEqualTo("b");
        }
        map = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        Sorted otherOrder = new Sorted(Collections.unmodifiableSortedMap(map), new TreeSet<>());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(path, otherOrder, SaveOptions.defaults().classes(classes)))
                .withMessageContaining("custom comparator");
    }

    @Test
    @SuppressWarnings("JdkObsolete") // Programs have them.
    void whatNoVariableCouldTakeBackIsNotSaved() throws IOException {
        StateClasses classes = StateClasses.of(Typings.class, Settings.class);
        LinkedList<Integer> reversed = new LinkedList<>(List.of(1, 2)).reversed();
        QuantizedTensor tensor = new QuantizedTensor(Tensor.zeros(DType.QINT8, 1), new Quantizer.PerTensor(0.5, 3));
        assertNotSaved(classes, new Typings(new Properties(), null, null), "the value at '0/properties'",
                "opened as one of type java.util.LinkedHashMap, which a variable of type java.util.Properties");
        assertNotSaved(classes, new Typings(null, reversed, null), "the value at '0/list'",
                "as one of type java.util.ArrayList");
        assertNotSaved(classes, new Typings(null, null, tensor), "the value at '0/tensor'", "Typed");
        Settings settings = new Settings();
        settings.properties.put("rate", "0.5");
        assertNotSaved(classes, settings, "the value at '0/properties'", "as one of type java.util.LinkedHashMap");
        StateClasses upgraded = classes.upgrading(Typings.class, components -> {
            Properties properties = new Properties();
            properties.putAll((Map<?, ?>) Objects.requireNonNull(components.get("properties")));
            components.put("properties", properties);
        });
        Properties properties = new Properties();
        properties.put("rate", "0.5");
        Path path = directory.resolve("properties.croft");
        Checkpoint.save(path, new Typings(properties, null, null), SaveOptions.defaults().classes(upgraded));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(upgraded))) {
            assertThat(c.state(Typings.class).properties()).isEqualTo(properties);
        }
    }

    private void assertNotSaved(StateClasses classes, Object object, String place, String why) {
        Path path = directory.resolve("refused.croft");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(path, List.of(object), SaveOptions.defaults().classes(classes)))
                .withMessageStartingWith("cannot save " + place + ": ").withMessageContaining(why);
        assertThat(path).doesNotExist();
    }

    @Test
    void emptyMapsOfEnumsOfTheJdkComeBack() throws IOException {
        EnumMap<?, ?> back = (EnumMap<?, ?>) again(new EnumMap<>(TimeUnit.class));
        assertThat(back).isEqualTo(new EnumMap<>(TimeUnit.class)).isEmpty();
        assertThat(back.containsKey(TimeUnit.DAYS)).isFalse();
    }

    record Task(int rank, List<Integer> parts) implements Comparable<Task> {
        @Override
        public int compareTo(Task other) {
            return Integer.compare(rank, other.rank);
        }
    }

    @Test
    void whatIsOnlyComparedMayHaveManyParts() throws IOException {
        StateClasses classes = StateClasses.of(Task.class);
        PriorityQueue<Task> queue = new PriorityQueue<>();
        queue.add(new Task(2, Collections.nCopies(70_000, 1)));
        queue.add(new Task(1, List.of()));
        Path path = directory.resolve("queue.croft");
        Checkpoint.save(path, queue, SaveOptions.defaults().classes(classes));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(classes))) {
            assertThat(((PriorityQueue<?>) c.state(PriorityQueue.class)).toArray()).isEqualTo(queue.toArray());
        }
    }

    @Test
    void whatATensorIsLoadedIntoIsNamedAsSuch() throws IOException {
        Path path = directory.resolve("plain.croft");
        Checkpoint.save(path, Map.of("a", 1));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThatIllegalArgumentException().isThrownBy(() -> c.loadInto(Map.of("a", new Object())))
                    .withMessageStartingWith("cannot load into the value at 'a': a value of type java.lang.Object");
        }
    }

    static Stream<Arguments> unsavable() {
        Object[] deep = {1};
        for (int i = 0; i < 100_000; i++) {
            deep = new Object[]{deep};
        }
        Optional<Object> optional = Optional.of(1);
        for (int i = 0; i < 100_000; i++) {
            optional = Optional.of(optional);
        }
        return Stream.<Object>of(new Object(), new IdentityHashMap<>(),
                new TreeMap<>(Comparator.comparing(Object::toString)),
                new PriorityQueue<>(Comparator.comparing(Object::toString)), Map.of(1, 2).values().iterator(),
                new HashMap<>(Map.of("a", 1)).values(), Thread.currentThread(), (Runnable) () -> {}, Object.class,
                new Process[0], EnumSet.of(Thread.State.NEW), new EnumMap<>(Thread.State.class), deep, optional)
                .map(Arguments::of);
    }

    @Test
    void whatIsNotRegisteredIsRefusedWithTheCallThatRegistersIt() {
        Path file = directory.resolve("a.croft");
        for (Object object : List.of(new Thread(), new Thread[0], new Thread[0][0])) {
            assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(file, object))
                    .withMessageContaining("pass StateClasses.of(Thread.class) to the options");
        }
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(file, (Runnable) () -> {}))
                .withMessageContaining("pass StateClasses.of(…) to the options");
    }

    private record Momentum(float rate, List<Object> groups) {}

    private enum Stage {
        FIRST, LAST
    }

    @SuppressWarnings("UnusedVariable") // Read when it is saved.
    private static final class Group {
        Object stages = new Stage[]{Stage.LAST};
        Object thread = new Thread(() -> {});
    }

    private record Run(String name, Momentum optimizer, Object stage) {}

    @Test
    void allClassesThatAreNotRegisteredAreNamedAtOnce() {
        Path file = directory.resolve("a.croft");
        Object run = new Run("a", new Momentum(0.1f, List.of(new Group())), Stage.FIRST);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(file, Map.of("run", run),
                        SaveOptions.defaults().classes(StateClasses.of(Run.class))))
                .withMessageStartingWith("cannot save the value at 'run/optimizer': a value of type "
                        + Momentum.class.getName())
                .withMessageContaining("pass StateClasses.of(Momentum.class, Group.class, Stage.class) to the options");
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(file, List.of(1L, new Momentum[0], run)))
                .withMessageStartingWith("cannot save the value at '1': a value of type "
                        + Momentum.class.getName() + "[]")
                .withMessageContaining("StateClasses.of(Momentum.class, Run.class, Group.class, Stage.class)");
        assertThat(file).doesNotExist();
    }

    @Test
    void aCheckpointIsNoStateButHasOne() throws IOException {
        Path file = directory.resolve("a.croft");
        Checkpoint.save(file, Map.of("a", 1));
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(directory.resolve("b.croft"), c))
                    .withMessageContaining("save its tree()");
        }
    }

    @ParameterizedTest
    @MethodSource("unsavable")
    void whatCannotBeSavedIsNamedWithItsPath(Object object) {
        Map<String, Object> rng = new LinkedHashMap<>();
        rng.put("rng", object);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(directory.resolve("a.croft"), Map.of("optimizer", new Pair(rng, 1)),
                        SaveOptions.defaults().classes(CLASSES)))
                .withMessageStartingWith("cannot save the value at 'optimizer/left/rng")
                .withMessageNotContaining("\n");
        assertThat(directory.resolve("a.croft")).doesNotExist();
    }

    @SuppressWarnings("JdkObsolete") // Programs have them.
    static Stream<Arguments> replaced() {
        return Stream.of(Arguments.of(new Stack<>(), "use java.util.ArrayList"),
                Arguments.of(new PriorityBlockingQueue<>(), "use java.util.PriorityQueue"),
                Arguments.of(new ConcurrentSkipListMap<>(), "use java.util.TreeMap"),
                Arguments.of(new CopyOnWriteArraySet<>(), "use java.util.LinkedHashSet"),
                Arguments.of(new LinkedBlockingQueue<>(), "use java.util.ArrayDeque"),
                Arguments.of(ThaiBuddhistDate.of(2569, 11, 23), "use java.time.LocalDate"));
    }

    @ParameterizedTest
    @MethodSource("replaced")
    void aClassThatIsNotSavedIsRefusedWithTheOneToUse(Object object, String remedy) {
        assertNotSaved(StateClasses.of(), object, "the value at '0'", remedy);
    }

    @Test
    void valuesOfTheJdkAreReadableInTheTree() throws IOException {
        Adam adam = new Adam();
        Path path = directory.resolve("readable.croft");
        Checkpoint.save(path, Arrays.asList(Duration.ofMillis(1500), adam, OptionalInt.of(3), 'x'),
                SaveOptions.defaults().classes(CLASSES));
        try (Checkpoint c = Checkpoint.open(path)) {
            List<?> tree = (List<?>) Objects.requireNonNull(c.tree());
            assertThat(tree.getFirst()).hasToString("java:java.time.Duration(PT1.5S)");
            assertThat(((Map<?, ?>) tree.get(1)).get("started"))
                    .hasToString("java:java.time.Instant(1970-01-01T00:00:00Z)");
            assertThat(tree.get(2)).hasToString("java:java.util.OptionalInt([3])");
            assertThat(tree.get(3)).hasToString("java:java.lang.Character(120)");
        }
    }

    @Test
    void aChainOfObjectsAsLongAsTheTreeIsDeepComesBackAndALongerOneIsRefused() throws IOException {
        assertThat(length((Node) again(chain(60)))).isEqualTo(60);
        assertThatIllegalArgumentException().isThrownBy(() -> again(chain(100_000))).withMessageContaining("deep");
    }

    @Test
    void aStateThatIsTooDeepIsRefusedWithAPath() {
        assertThatIllegalArgumentException().isThrownBy(() -> again(chain(900))).withMessageContaining("deep")
                .withMessageContaining("next/next").withMessageContaining("next/…").satisfies(
                        e -> assertThat(e.getMessage()).hasSizeLessThan(400));
    }

    @Test
    void thePathOfADamagedObjectDeepInAListIsShortened() throws IOException {
        Node last = new Node();
        Node first = last;
        for (int i = 0; i < 50; i++) {
            Node before = new Node();
            before.next = first;
            first = before;
        }
        last.value = new Pair(1, 2);
        Path path = directory.resolve("deep.croft");
        Checkpoint.save(path, first, SaveOptions.defaults().classes(CLASSES));
        OpenOptions options = OpenOptions.defaults().classes(StateClasses.of(Node.class));
        try (Checkpoint c = Checkpoint.open(path, options)) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(c::state)
                    .withMessageContaining("the value at 'next/")
                    .withMessageContaining("Pair', which is not registered").withMessageContaining("…")
                    .satisfies(e -> assertThat(e.getMessage()).hasSizeLessThan(500));
        }
    }

    @Test
    void allClassesOfAFileThatAreNotRegisteredAreNamedAtOnce() throws IOException {
        EnumMap<Phase, Object> schedules = new EnumMap<>(Phase.class);
        schedules.put(Phase.TRAIN, new Adam());
        Path path = directory.resolve("many.croft");
        Checkpoint.save(path, List.of(new Pair(schedules, EnumSet.of(Phase.TRAIN)), new Layer[0]),
                SaveOptions.defaults().classes(CLASSES));
        try (Checkpoint c = Checkpoint.open(path)) {
            String prefix = JavaObjectsTest.class.getName() + "$";
            assertThatExceptionOfType(FormatException.class).isThrownBy(c::state)
                    .withMessageContaining("Pair', which is not registered; nor are ")
                    .withMessageContaining("'" + prefix + "Phase'").withMessageContaining("'" + prefix + "Adam'")
                    .withMessageContaining("'" + prefix + "Layer[]'").withMessageContaining("Register all of them")
                    .withMessageContaining("those that were renamed, with StateClasses.formerly");
        }
    }

    @Test
    void enumsOfCollectionsThatAreNotRegisteredAreNamedWithTheOthers() {
        Object state = List.of(EnumSet.of(Stage.FIRST), new EnumMap<>(Map.of(Phase.TRAIN, new Momentum(1, List.of()))));
        assertThatIllegalArgumentException().isThrownBy(() -> again(state, StateClasses.of()))
                .withMessageContaining("StateClasses.of(Stage.class, Phase.class, Momentum.class)");
    }

    @Test
    void aPathInAMessageBreaksNoLine() {
        Path file = directory.resolve("a.croft");
        String key = "a\nb\u001b[31m";
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(file, Map.of(key, new Object())))
                .withMessageStartingWith("cannot save the value at 'a\\u{a}b\\u{1b}[31m': "
                        + "a value of type java.lang.Object");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(file, Map.of(key, Map.of(1, "int", 1L, "long"))))
                .withMessageStartingWith("cannot save the value at 'a\\u{a}b\\u{1b}[31m': the key");
    }

    @ParameterizedTest
    @ValueSource(strings = {"java.util.Optional", "java.util.UUID", "java.nio.file.Path", "java.util.TreeMap",
            "java.util.EnumMap"})
    void aNameThatMeansAClassOfTheJdkIsNotGivenToAnother(String name) {
        assertThatIllegalArgumentException().isThrownBy(() -> CLASSES.named(name, Pair.class))
                .withMessageContaining(name).withMessageContaining("another one");
        assertThatIllegalArgumentException().isThrownBy(() -> CLASSES.formerly(name, Pair.class));
    }

    @Test
    void optionalNeedsNoRegistration() {
        assertThatIllegalArgumentException().isThrownBy(() -> StateClasses.of(Optional.class))
                .withMessageContaining("needs no registration");
    }

    private static Node chain(int length) {
        Node last = new Node();
        for (int i = 1; i < length; i++) {
            Node node = new Node();
            node.next = last;
            last = node;
        }
        return last;
    }

    private static int length(Node first) {
        int length = 0;
        for (Node at = first; at != null; at = at.next) {
            length++;
        }
        return length;
    }
}
