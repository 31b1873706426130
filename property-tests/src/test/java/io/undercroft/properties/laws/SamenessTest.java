package io.undercroft.properties.laws;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.properties.states.StateSketch;
import io.undercroft.properties.states.TrainingObjects.Block;
import io.undercroft.properties.states.TrainingObjects.Constant;
import io.undercroft.properties.states.TrainingObjects.Phase;
import io.undercroft.properties.states.TrainingObjects.StageKey;
import io.undercroft.properties.states.TrainingObjects.Wrapper;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Sameness;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/// The laws are only as good as the comparison that they rest on.
class SamenessTest {
    private static final Tensor ONE = Tensor.of(1f, 2f, 3f, 4f);

    private record Pair(String what, Object first, Object second) {}

    @TestFactory
    Stream<DynamicTest> whatDiffersIsSeen() {
        Tensor tensor = Tensor.of(1f, 2f, 3f, 4f);
        List<Object> list = List.of(1L);
        return Stream.of(
                new Pair("a value", List.of(1L), List.of(2L)),
                new Pair("a type", List.of(1L), List.of(1.0)),
                new Pair("the sign of zero", 0.0, -0.0),
                new Pair("the bits of a NaN", Double.NaN, Double.longBitsToDouble(0x7ff8_0000_dead_beefL)),
                new Pair("a missing element", List.of(1L, 2L), List.of(1L)),
                new Pair("a missing key", Map.of("a", 1L), Map.of()),
                new Pair("a list for a tuple", Tuple.of(1L), List.of(1L)),
                new Pair("a set for a list", List.of(1L), Set.of(1L)),
                new Pair("the order of a set", new LinkedHashSet<>(List.of(1L, 2L)),
                        new LinkedHashSet<>(List.of(2L, 1L))),
                new Pair("the type of an object", new Typed("a", 1L), new Typed("b", 1L)),
                new Pair("the type of a map", new TypedMap("a"), new TypedMap("b")),
                new Pair("a plain map for a typed one", new TypedMap("a"), Map.of()),
                new Pair("a shape", ONE, ONE.view(2, 2)),
                new Pair("a dtype", ONE, Tensor.of(ONE.storage(), DType.INT32, 0, Shape.of(4), 1)),
                new Pair("an offset", ONE.narrow(0, 0, 2), ONE.narrow(0, 2, 2)),
                new Pair("a stride", ONE.asStrided(Shape.of(2), new long[]{1}, 0),
                        ONE.asStrided(Shape.of(2), new long[]{2}, 0)),
                new Pair("a flag", ONE, ONE.withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD))),
                new Pair("bytes", ONE, Tensor.of(1f, 2f, 3f, 5f)),
                new Pair("bytes that no tensor reaches", ONE.narrow(0, 0, 2),
                        Tensor.of(1f, 2f, 3f, 5f).narrow(0, 0, 2)),
                new Pair("a device", Storage.allocate(4), Storage.meta(4)),
                new Pair("a storage that is shared no more", List.of(tensor.view(2, 2), tensor.view(4)),
                        List.of(Tensor.of(1f, 2f, 3f, 4f).view(2, 2), Tensor.of(1f, 2f, 3f, 4f).view(4))),
                new Pair("a storage that was not shared", List.of(Tensor.of(1f).view(1), Tensor.of(1f).view(1)),
                        sharedViews()),
                new Pair("a tensor that came back as two", List.of(tensor, tensor),
                        List.of(tensor.view(4), tensor.view(4))),
                new Pair("a list that came back as two", List.of(list, list),
                        List.of(List.of(1L), new ArrayList<>(List.of(1L)))),
                new Pair("two lists that came back as one", List.of(new ArrayList<>(list), new ArrayList<>(list)),
                        List.of(list, list)),
                new Pair("the class of a number", 1, (short) 1),
                new Pair("the bits of a float", 0f, -0f),
                new Pair("a component of a record", new StageKey("a", 1, Phase.DONE), new StageKey("a", 2, Phase.DONE)),
                new Pair("a constant", Phase.DONE, Phase.TRAIN),
                new Pair("the class of a record", new Constant(0), new StageKey("a", 0, null)),
                new Pair("a field", block(1L, 2L), block(1L, 3L)),
                new Pair("a field above", new Wrapper("a", 1), new Wrapper("b", 1)),
                new Pair("a hidden field", wrapper(1), wrapper(2)),
                new Pair("a record that came back as two", twice(new Constant(0)),
                        List.of(new Constant(0), new Constant(0))),
                new Pair("two records that came back as one", List.of(new Constant(0), new Constant(0)),
                        twice(new Constant(0))),
                new Pair("an object that came back as two", twice(block(1, 2)), List.of(block(1, 2), block(1, 2))),
                new Pair("a cycle that was cut", selfish(), block(1, block(1, null))),
                new Pair("a list shared by two fields", block(list, list), block(list, new ArrayList<>(list))),
                new Pair("a counter that came back as two", twice(new AtomicLong(1)),
                        List.of(new AtomicLong(1), new AtomicLong(1))),
                new Pair("a count", new AtomicLong(1), new AtomicLong(2)),
                new Pair("the class of an array", new float[1], new double[1]),
                new Pair("the class of elements", new Object[0], new String[0]),
                new Pair("an element of an array", new Object[]{1}, new Object[]{2}),
                new Pair("the length of an array", new int[1], new int[2]),
                new Pair("an array that came back as two", twice(new int[1]), List.of(new int[1], new int[1])),
                new Pair("the class of a map", new TreeMap<>(), Map.of()),
                new Pair("the class of a set", new TreeSet<>(), Set.of()),
                new Pair("the class of a map of constants", new EnumMap<>(Phase.class), Map.of()),
                new Pair("an empty optional", Optional.empty(), Optional.of(1L)),
                new Pair("what an optional holds", Optional.of(2L), Optional.of(1L)),
                new Pair("a value", Instant.EPOCH, Instant.MAX))
                .map(pair -> DynamicTest.dynamicTest(pair.what,
                        () -> assertThatThrownBy(() -> Sameness.check(pair.first, pair.second))
                                .isInstanceOf(AssertionError.class)));
    }

    @Provide
    Arbitrary<StateSketch> plain() {
        return StateSketch.plain();
    }

    @Provide
    Arbitrary<StateSketch> ofObjects() {
        return StateSketch.ofObjects();
    }

    @Property(tries = 20)
    void aStateIsTheSameAsItself(@ForAll("plain") StateSketch sketch) {
        Object state = sketch.make();
        assertThatCode(() -> Sameness.check(state, state)).doesNotThrowAnyException();
    }

    @Property(tries = 20)
    void aSketchMakesTheSameStateAgain(@ForAll("plain") StateSketch sketch) {
        assertThatCode(() -> Sameness.check(sketch.make(), sketch.make())).doesNotThrowAnyException();
    }

    @Property(tries = 20)
    void aSketchMakesTheSameObjectsAgain(@ForAll("ofObjects") StateSketch sketch) {
        assertThatCode(() -> Sameness.check(sketch.make(), sketch.make())).doesNotThrowAnyException();
    }

    @Test
    void onlyWhatMayPartParts() {
        Storage empty = Storage.allocate(0);
        List<Storage> parted = List.of(Storage.allocate(0), Storage.allocate(0));
        assertThatCode(() -> Sameness.check(twice(empty), parted, part -> part == empty)).doesNotThrowAnyException();
        assertThatThrownBy(() -> Sameness.check(twice(empty), parted)).isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> Sameness.check(parted, twice(empty), _ -> true)).isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> Sameness.check(twice(Storage.allocate(1)),
                List.of(Storage.allocate(1), Storage.copyOf((byte) 1)), _ -> true)).isInstanceOf(AssertionError.class);
    }

    @Test
    void aCycleEnds() {
        assertThatCode(() -> Sameness.check(cycle(), cycle())).doesNotThrowAnyException();
    }

    private static List<Tensor> sharedViews() {
        Tensor one = Tensor.of(1f);
        return List.of(one.view(1), one.view(1));
    }

    private static List<Object> twice(Object object) {
        return List.of(object, object);
    }

    private static Block block(Object first, Object second) {
        Block block = new Block();
        block.first = first;
        block.second = second;
        return block;
    }

    private static Block selfish() {
        Block block = block(1, null);
        block.second = block;
        return block;
    }

    private static Wrapper wrapper(Object hidden) {
        Wrapper wrapper = new Wrapper("a", 1);
        wrapper.weight(hidden);
        return wrapper;
    }

    private static Object cycle() {
        List<Object> list = new ArrayList<>();
        list.add(list);
        return list;
    }
}
