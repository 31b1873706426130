package io.undercroft.properties;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
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
                        List.of(list, list)))
                .map(pair -> DynamicTest.dynamicTest(pair.what,
                        () -> assertThatThrownBy(() -> Sameness.check(pair.first, pair.second))
                                .isInstanceOf(AssertionError.class)));
    }

    @Test
    void aStateIsTheSameAsItself() {
        byte[] choices = new byte[3000];
        new Random(1).nextBytes(choices);
        Object state = StateMaker.make(choices);
        assertThatCode(() -> Sameness.check(state, state)).doesNotThrowAnyException();
    }

    @Test
    void aCycleEnds() {
        assertThatCode(() -> Sameness.check(cycle(), cycle())).doesNotThrowAnyException();
    }

    private static List<Tensor> sharedViews() {
        Tensor one = Tensor.of(1f);
        return List.of(one.view(1), one.view(1));
    }

    private static Object cycle() {
        List<Object> list = new ArrayList<>();
        list.add(list);
        return list;
    }
}
