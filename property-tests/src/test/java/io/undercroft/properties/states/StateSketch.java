package io.undercroft.properties.states;

import io.undercroft.properties.states.TrainingObjects.Phase;
import io.undercroft.properties.states.TrainingObjects.StageKey;
import io.undercroft.serializer.state.Symbol;
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
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.UUID;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Tuple;
import org.jspecify.annotations.Nullable;

/// How a state is made: one thing after the other is put into a container that exists already. So any part of a
/// sketch is a sketch, and the Java program that it prints has a line or two for each thing.
///
/// @param root what the state is
/// @param puts what is put into it and into what was put into it
public record StateSketch(Kind root, List<Put> puts) implements Sketch {
    /// An empty map.
    public static final StateSketch EMPTY = new StateSketch(Kind.MAP, List.of());

    private static final int MOST_PUTS = 45;
    private static final int MOST_PUTS_OF_OBJECTS = 40;

    /// One step.
    ///
    /// @param into which container, counted back from the latest that can take something
    /// @param slot which of its places, if it has several
    /// @param key the key, if it has keys: a key of a plain state, or a [StageKey] for containers of Java objects
    /// @param item what is put there
    record Put(int into, int slot, @Nullable Object key, Item item) {}

    /// What is put somewhere.
    sealed interface Item {
        /// A value without parts.
        ///
        /// @param value the value
        record Value(@Nullable Object value) implements Item {}

        /// A tensor.
        ///
        /// @param sketch which one
        record OfTensor(TensorSketch sketch) implements Item {}

        /// A storage.
        ///
        /// @param sketch which one
        /// @param isTyped whether as one with elements
        record OfStorage(StorageSketch sketch, boolean isTyped) implements Item {}

        /// A container that is there already.
        ///
        /// @param which its number, by its remainder
        record Again(int which) implements Item {}

        /// A new container.
        ///
        /// @param kind what it is
        /// @param name its name, if it has one
        /// @param number a number that it holds, or the number of its elements
        /// @param parts what it holds from the start
        record Nest(Kind kind, String name, int number, List<Item> parts) implements Item {}
    }

    /// Containers.
    enum Kind {
        // What any state can hold.
        MAP, LIST, TUPLE, SET, TYPED_MAP, TYPED,
        // What a state of Java objects can hold, too.
        TEXT_MAP, NUMBER_MAP, KEY_MAP, PHASE_MAP, ENUM_MAP, TREE_MAP, DEQUE, LIST_COPY, SAFE_LIST, KEY_SET, TREE_SET,
        ENUM_SET, KEYS, TEXTS, ROWS, SCHEDULES, OBJECTS, PRIMITIVES, TRAINER, CONSTANT, COSINE, MODULE, WRAPPER, BLOCK,
        BUNDLE, OPTIONAL, COUNTER, BITS,
        /// None: the state is what is put first.
        BARE;

        private static final List<Kind> PLAIN = List.of(MAP, LIST, TUPLE, SET, TYPED_MAP, TYPED);
        private static final List<Kind> OF_OBJECTS = List.copyOf(EnumSet.range(TEXT_MAP, BITS));
    }

    // ---- what is in all of them ----

    /// Names, simple ones first, that files, paths, pickles, terminals or normalizations could get wrong.
    private static final List<String> PIECES = List.of("weight", "0", "model.layers.0.weight", "a/b", "~", "~1", "/",
            "$tensor", "#2", "1", "é", "e\u0301", "\uD83D\uDE00", "\u0000", "\u202E", "line\nbreak", "\uFFFF",
            "\u65E5\u672C\u8A9E", " ", "", "kryo", "java:x", "layer", "\"quoted\\\"", "x".repeat(300));
    private static final List<Double> DOUBLES = List.of(0.0, -0.0, 1.5, Double.NaN, Double.POSITIVE_INFINITY,
            Double.NEGATIVE_INFINITY, Double.MIN_VALUE, -Double.MAX_VALUE,
            Double.longBitsToDouble(0x7ff8_0000_dead_beefL), Double.longBitsToDouble(0xfff0_0000_0000_0001L));
    private static final List<Long> LONGS = List.of(0L, 1L, -1L, 127L, 128L, -128L, 1L << 31, Long.MAX_VALUE,
            Long.MIN_VALUE);
    private static final List<Object> PLACES = List.of(Device.CPU, Device.META, Device.cuda(0), Device.cuda(7),
            Device.parse("mps"), Shape.of(), Shape.of(0), Shape.of(2, 3), Shape.of(1L << 40, 0), Shape.of(1L << 62));
    private static final List<Object> OF_LIBRARY = List.of(Instant.EPOCH, LocalDate.of(2026, 11, 21),
            Duration.ofNanos(-1),
            LocalDate.of(2026, 10, 25).atTime(2, 30).atZone(ZoneId.of("Europe/Paris")).withLaterOffsetAtOverlap(),
            new UUID(1, 2), new BigDecimal("1.50"), URI.create("a:b"), Path.of("/tmp/x"), Locale.CANADA_FRENCH,
            OptionalInt.of(3), 'c', ZoneId.of("Asia/Tokyo"));
    private static final List<Object> NUMBERS = List.of((byte) -1, (short) 300, 70_000, 1L << 40, 1.5f, -0.0f, 0.1,
            Float.NaN, Double.NaN, Float.intBitsToFloat(0x7fc0_beef), Double.longBitsToDouble(0xfff8_0000_dead_beefL),
            BigInteger.ONE.shiftLeft(80));

    /// {@return states of every shape that a state can have: containers in containers, each of them perhaps again in
    /// another place or in itself, and tensors that share storages in every way}
    public static Arbitrary<StateSketch> plain() {
        return plain(MOST_PUTS);
    }

    /// {@return states as [#plain()] has them}
    ///
    /// @param most how many things they have at most
    public static Arbitrary<StateSketch> plain(int most) {
        Arbitrary<Kind> roots = Arbitraries.frequency(Tuple.of(6, Kind.MAP), Tuple.of(1, Kind.LIST),
                Tuple.of(1, Kind.BARE));
        return states(roots, puts(keys(), items(values(), Kind.PLAIN)), most);
    }

    /// {@return states of Java objects: records, constants, objects with fields, arrays, collections of many classes
    /// and values of the library, around tensors that share storages; each of them perhaps again in another place or,
    /// where Java allows it, in itself}
    public static Arbitrary<StateSketch> ofObjects() {
        Arbitrary<StageKey> keys = Combinators.combine(names(), Arbitraries.integers().between(-4, 4),
                Arbitraries.of(Phase.values())).as(StageKey::new);
        return states(Arbitraries.just(Kind.LIST), puts(keys, items(valuesOfObjects(), Kind.OF_OBJECTS)),
                MOST_PUTS_OF_OBJECTS);
    }

    @Override
    public Object make() {
        return new StateMaker().make(this);
    }

    /// {@return a Java program that makes the state, as statements the last of which declares `state`}
    @Override
    public String toString() {
        StateMaker maker = new StateMaker();
        maker.make(this);
        return maker.program();
    }

    private static Arbitrary<StateSketch> states(Arbitrary<Kind> roots, Arbitrary<Put> puts, int most) {
        return Combinators.combine(roots, puts.list().ofMaxSize(most)).as(StateSketch::new).withoutEdgeCases();
    }

    private static <K> Arbitrary<Put> puts(Arbitrary<K> keys, Arbitrary<Item> items) {
        Arbitrary<Integer> numbers = Arbitraries.integers().between(0, 7);
        return Combinators.combine(numbers, numbers, keys, items).as(Put::new);
    }

    /// As many containers as make states deep; of the rest half are tensors, what this library is for.
    private static Arbitrary<Item> items(Arbitrary<@Nullable Object> values, List<Kind> kinds) {
        Arbitrary<Item> value = values.map(Item.Value::new);
        Arbitrary<Item> tensor = TensorSketch.any().map(Item.OfTensor::new);
        Arbitrary<Item> storage = Combinators.combine(StorageSketch.any(), Arbitraries.of(false, true))
                .as(Item.OfStorage::new);
        Arbitrary<Item> again = StorageSketch.numbers().map(Item.Again::new);
        Arbitrary<Item> simple = Arbitraries.frequencyOf(Tuple.of(6, value), Tuple.of(8, tensor), Tuple.of(1, storage),
                Tuple.of(3, again));
        Arbitrary<Item> nest = Combinators.combine(Arbitraries.of(kinds), names(),
                Arbitraries.integers().between(0, 99), simple.list().ofMaxSize(4)).as(Item.Nest::new);
        return Arbitraries.frequencyOf(Tuple.of(2, simple), Tuple.of(1, nest));
    }

    private static Arbitrary<String> names() {
        return Arbitraries.frequencyOf(Tuple.of(4, Arbitraries.of(PIECES)),
                Tuple.of(1, Arbitraries.of(PIECES).list().ofMaxSize(3).map(pieces -> String.join("", pieces))),
                Tuple.of(1, Arbitraries.integers().between(0, Character.MAX_CODE_POINT)
                        .filter(point -> point < Character.MIN_SURROGATE || point > Character.MAX_SURROGATE)
                        .map(Character::toString)));
    }

    private static Arbitrary<Double> doubles() {
        return Arbitraries.frequencyOf(Tuple.of(3, Arbitraries.of(DOUBLES)),
                Tuple.of(1, Arbitraries.longs().map(Double::longBitsToDouble)));
    }

    private static Arbitrary<@Nullable Object> values() {
        return Arbitraries.oneOf(List.<Arbitrary<@Nullable Object>>of(
                Arbitraries.just(null),
                any(Arbitraries.of(false, true)),
                any(Arbitraries.of(LONGS)),
                any(Arbitraries.longs()),
                any(doubles()),
                any(names()),
                any(Arbitraries.bytes().array(byte[].class).ofMaxSize(40)),
                any(Combinators.combine(Arbitraries.longs(), Arbitraries.integers().between(0, 199))
                        .as((low, more) -> BigInteger.ONE.shiftLeft(Long.SIZE).add(BigInteger.valueOf(low))
                                .shiftLeft(more).negate())),
                any(Combinators.combine(doubles(), doubles()).as(Complex::new)),
                any(Arbitraries.of(DType.values())),
                any(Arbitraries.of(PLACES)),
                any(names().map(name -> new Symbol("torch." + name)))));
    }

    private static Arbitrary<@Nullable Object> valuesOfObjects() {
        return Arbitraries.oneOf(List.<Arbitrary<@Nullable Object>>of(
                Arbitraries.just(null),
                any(Arbitraries.of(false, true)),
                any(Arbitraries.of(NUMBERS)),
                any(Arbitraries.integers().map(Float::intBitsToFloat)),
                any(doubles()),
                any(names()),
                any(Arbitraries.of(Phase.values())),
                any(Arbitraries.bytes().array(byte[].class).ofMaxSize(3)),
                any(Arbitraries.of(OF_LIBRARY))));
    }

    /// Half of them texts; two tuples in each other at most.
    private static Arbitrary<@Nullable Object> keys() {
        Arbitrary<@Nullable Object> plain = Arbitraries.frequencyOf(
                Tuple.of(4, any(names())),
                Tuple.of(1, any(Arbitraries.of(LONGS))),
                Tuple.of(1, any(Arbitraries.longs().between(0, 4))),
                Tuple.of(1, any(Arbitraries.of(DOUBLES))),
                Tuple.of(1, Arbitraries.just(null)),
                Tuple.of(1, any(Arbitraries.of(false, true))),
                Tuple.of(1, any(Arbitraries.of(DType.values()))),
                Tuple.of(1, any(Arbitraries.integers().between(0, 2).map(number -> new Complex(1, number)))));
        Arbitrary<@Nullable Object> pairs = pairs(plain);
        return Arbitraries.frequencyOf(Tuple.of(8, plain), Tuple.of(1, pairs), Tuple.of(1, pairs(pairs)));
    }

    private static Arbitrary<@Nullable Object> pairs(Arbitrary<@Nullable Object> parts) {
        return Combinators.combine(parts, parts)
                .as((first, second) -> io.undercroft.serializer.state.Tuple.of(first, second));
    }

    private static <T> Arbitrary<@Nullable Object> any(Arbitrary<T> arbitrary) {
        return arbitrary.map(value -> value);
    }
}
