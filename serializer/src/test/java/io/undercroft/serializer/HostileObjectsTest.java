package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/// Nodes that no program saves are refused with their place, and make no class load and no stack overflow.
class HostileObjectsTest {
    private static final StateClasses CLASSES = StateClasses.of(Box.class, Phase.class, Cell.class, Shape.class);

    @TempDir
    Path directory;

    enum Phase {
        A
    }

    record Box(@Nullable Object held) {}

    static final class Cell {
        private int number = 3;

        @Override
        public String toString() {
            return "cell " + number;
        }
    }

    sealed interface Shape {
        record Round() implements Shape {}
    }

    /// Loading it would set the property.
    static final class Trap {
        static {
            System.setProperty("undercroft.trap", "sprung");
        }
    }

    private static Typed typed(String type, @Nullable Object value, Object... attributes) {
        Typed node = new Typed("java:" + type, value);
        for (int i = 0; i < attributes.length; i += 2) {
            node.attributes().put((String) attributes[i], attributes[i + 1]);
        }
        return node;
    }

    private static TypedMap map(String type, Map<?, ?> entries, Object... attributes) {
        TypedMap node = new TypedMap("java:" + type);
        node.putAll(entries);
        for (int i = 0; i < attributes.length; i += 2) {
            node.attributes().put((String) attributes[i], attributes[i + 1]);
        }
        return node;
    }

    private static String box() {
        return Box.class.getName();
    }

    private static Object ring(String type) {
        Typed node = typed(type, null);
        node.value(new ArrayList<>(Arrays.asList(node)));
        return node;
    }

    private static Object boxInItself() {
        TypedMap node = map(box(), Map.of());
        node.put("held", node);
        return node;
    }

    private static Object boxesInEachOther() {
        TypedMap first = map(box(), Map.of());
        first.put("held", map(box(), Map.of("held", typed("java.util.Optional", List.of(first)))));
        return first;
    }

    /// A set of a record of the set: its hash never ends once it holds itself.
    private static Object keyThatHoldsItsSet() {
        List<Object> elements = new ArrayList<>();
        Typed set = typed("java.util.LinkedHashSet", elements);
        elements.add(map(box(), Map.of("held", set)));
        elements.add(map(box(), Map.of("held", List.of(set))));
        return set;
    }

    static Stream<Arguments> nodes() {
        return Stream.<Object>of(typed("", null), typed("java.lang.Runtime", null), typed(Trap.class.getName(), null),
                typed(box(), null), typed(box(), List.of()), map(Phase.class.getName(), Map.of()),
                typed(Phase.class.getName(), "B"), typed(Phase.class.getName(), 1L), typed(Phase.class.getName(), null),
                map(box(), Map.of("held", 1, "other", 2)), map(box(), Map.of(1L, 1)),
                map(Cell.class.getName(), Map.of("absent", 1)), map(Cell.class.getName(), Map.of("number", "text")),
                map(Cell.class.getName(), Map.of("number", 1L << 40)), map(Cell.class.getName(), Map.of(1L, 1)),
                map(Shape.class.getName(), Map.of()),
                typed("java.util.Optional", null), typed("java.util.Optional", List.of(1, 2)),
                typed("java.util.Optional", Collections.singletonList(null)), map("java.util.Optional", Map.of()),
                typed("java.time.Instant", null), typed("java.time.Instant", "yesterday"),
                map("java.time.Instant", Map.of()),
                typed("java.util.TreeMap", 1L), typed("java.util.TreeMap", List.of(1)),
                typed("java.util.TreeMap", List.of(List.of(1, 2, 3))),
                typed("java.util.TreeMap", List.of(Tuple.of(1, 2), Tuple.of(1, 3))),
                typed("java.util.TreeMap", List.of(Tuple.of(1, 2), Tuple.of("a", 3))),
                map("java.util.TreeMap", Map.of(1, 2), "order", "random"), map("java.util.TreeSet", Map.of()),
                typed("java.util.TreeSet", List.of(1, 1)), typed("java.util.TreeSet", List.of(new ArrayList<>())),
                typed("java.util.LinkedHashSet", List.of("a", "a")), typed("java.util.Stack", List.of(1)),
                typed("java.util.ArrayDeque", Collections.singletonList(null)),
                map("java.util.concurrent.ConcurrentHashMap", Collections.singletonMap("a", null)),
                map("java.util.EnumMap", Map.of()), map("java.util.EnumMap", Map.of(), "enum", box()),
                map("java.util.EnumMap", Map.of("B", 1), "enum", Phase.class.getName()),
                typed("java.util.EnumMap", List.of(), "enum", Phase.class.getName()),
                typed("java.util.EnumSet", List.of("A"), "enum", "java.lang.Thread$State"),
                typed("java.util.EnumSet", List.of(7L), "enum", Phase.class.getName()),
                typed("int[]", null), typed("int[]", List.of()), typed("int[]", new byte[3]), map("int[]", Map.of()),
                typed("java.lang.String[]", List.of(1)), typed("java.lang.String[]", null), typed("[]", List.of()),
                typed("int" + "[]".repeat(300), List.of()), typed("java.lang.Runtime[]", List.of()),
                typed("void[]", List.of()), typed("int[][]", List.of(1)), boxInItself(), boxesInEachOther(),
                ring("java.util.Optional"), keyThatHoldsItsSet()).map(Arguments::of);
    }

    @ParameterizedTest
    @MethodSource("nodes")
    void aNodeThatNoProgramSavesIsRefusedWithItsPlace(Object node) throws IOException {
        Path path = directory.resolve("a.croft");
        Checkpoint.save(path, Map.of("a", List.of(node)));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(CLASSES))) {
            assertThat(c.tree()).isInstanceOf(Map.class);
            assertThatExceptionOfType(FormatException.class).isThrownBy(c::state)
                    .withMessageStartingWith(path + ": the value at 'a/0").withMessageNotContaining("\n")
                    .extracting(FormatException::code).isIn("CROFT-OBJECT", "CROFT-CLASS");
            assertThat(c.verify().damages()).isEmpty();
        }
        assertThat(System.getProperty("undercroft.trap")).isNull();
    }

    @Test
    void fieldsInBytesOfKryoAreRefusedAndNotTakenForMissingOnes() throws IOException {
        Path path = directory.resolve("a.croft");
        Checkpoint.save(path, List.of(map(Cell.class.getName(), Map.of(), "kryo", new byte[]{0})));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(CLASSES))) {
            assertThat(c.tree()).isInstanceOf(List.class);
            assertThatExceptionOfType(FormatException.class).isThrownBy(c::state)
                    .withMessageContaining("the value at '0' has fields in bytes of Kryo")
                    .withMessageContaining("does not support").extracting(FormatException::code)
                    .isEqualTo("CROFT-OBJECT");
        }
    }

    @Test
    void nodesOfOtherSystemsStayNodes() throws IOException {
        Path path = directory.resolve("a.croft");
        Typed parameter = new Typed("torch.nn.Parameter", new ArrayList<>(List.of(1)));
        parameter.attributes().put("box", new Box(parameter));
        Checkpoint.save(path, new Box(parameter), SaveOptions.defaults().classes(CLASSES));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(CLASSES))) {
            Typed back = (Typed) c.state(Box.class).held();
            assertThat(back.type()).isEqualTo("torch.nn.Parameter");
            assertThat(back.value()).isEqualTo(List.of(1));
            assertThat(((Box) back.attributes().get("box")).held()).isSameAs(back);
        }
    }

    @Test
    void aMapUnderATypeOfAnotherSystemIsRefused() throws IOException {
        Path path = directory.resolve("a.croft");
        Typed outer = new Typed("other", null);
        outer.value(typed("java.util.TreeMap", List.of()));
        Checkpoint.save(path, List.of(outer));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(CLASSES))) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(c::state)
                    .withMessageContaining("the value at '0' ");
        }
    }

    @Test
    void whatIsDeepIsMadeWithoutRunningOutOfStack() throws IOException {
        Object state = Optional.of(1);
        for (int depth = 0; depth < 60; depth++) {
            state = Optional.of(state);
        }
        Path path = directory.resolve("a.croft");
        Checkpoint.save(path, state);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.state()).isEqualTo(state);
        }
    }

    @Test
    void manyKeysThatShareALongListAreRefusedSoon() throws IOException {
        List<Object> shared = new ArrayList<>(Collections.nCopies(60_000, 1));
        List<Object> elements = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
            elements.add(new ArrayList<>(List.of(shared, i)));
        }
        Path path = directory.resolve("shared.croft");
        Checkpoint.save(path, typed("java.util.LinkedHashSet", elements));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(c::state)
                    .withMessageContaining("too many share much");
        }
    }
}
