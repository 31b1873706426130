package io.undercroft.serializer.internal.graph;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.Serializer;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import com.esotericsoftware.kryo.serializers.CollectionSerializer;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.StateClasses;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ObjectBytesTest {
    enum Mode {
        TRAIN, EVAL {
            @Override
            public String toString() {
                return "evaluation";
            }
        }
    }

    private static class Base {
        private int step = 1;
        private String name = "base";

        int baseStep() {
            return step;
        }

        String baseName() {
            return name;
        }
    }

    private static final class Trainer extends Base {
        private static int made;

        private final double rate;
        private int step = 2;
        private @Nullable String note;
        private Mode mode = Mode.TRAIN;
        private Object any = List.of();
        private List<Float> losses = new ArrayList<>();
        private AtomicLong seen = new AtomicLong();
        private @Nullable Instant started;
        private @Nullable Trainer other;
        private transient Object lock = "none";

        private Trainer(double rate) {
            this.rate = rate;
            made++;
        }
    }

    /// What a class was when a file was written, and what it is now, under one name.
    static final class Old {
        int kept = 5;
        int widened = 6;
        String gone = "gone";
        List<String> child = List.of("a");
    }

    static final class Grown {
        String added = "as made";
        List<String> child = new ArrayList<>();
        long widened;
        int kept;
        String gone = "";
        transient Object lock = "made";
    }

    static final class Shrunk {
        int kept;
    }

    static final class Retyped {
        int widened;
        String kept = "";
        String gone = "";
    }

    private final class Inner {
        private int value = 3;

        ObjectBytesTest outer() {
            return ObjectBytesTest.this;
        }
    }

    private static final StateClasses CLASSES = StateClasses.of(Trainer.class, Mode.class, Old.class, Grown.class);

    private final ObjectBytes bytes = new ObjectBytes(CLASSES);

    private Object copy(Object object) {
        ObjectBytes.Fields fields = bytes.of(object);
        Object copy = bytes.allocate(object.getClass());
        bytes.fill(copy, fields.bytes(), fields.children());
        return copy;
    }

    @Test
    void fieldsComeBack() {
        Trainer trainer = new Trainer(0.25);
        trainer.step = 7;
        trainer.mode = Mode.EVAL;
        trainer.any = "text";
        trainer.losses.add(1.5f);
        trainer.seen.set(9);
        trainer.started = Instant.EPOCH;
        trainer.other = trainer;
        trainer.lock = "held";
        Trainer copy = (Trainer) copy(trainer);
        assertThat(copy.rate).isEqualTo(0.25);
        assertThat(copy.step).isEqualTo(7);
        assertThat(copy.baseStep()).isEqualTo(1);
        assertThat(copy.baseName()).isEqualTo("base");
        assertThat(copy.note).isNull();
        assertThat(copy.mode).isSameAs(Mode.EVAL);
        assertThat(copy.any).isEqualTo("text");
        assertThat(copy.losses).isSameAs(trainer.losses);
        assertThat(copy.seen).isSameAs(trainer.seen);
        assertThat(copy.started).isEqualTo(Instant.EPOCH);
        assertThat(copy.other).isSameAs(trainer);
        assertThat(copy.lock).isNull();
        assertThat(Trainer.made).isPositive();
    }

    @Test
    void childrenAreWhatHasIdentityByFieldName() {
        Trainer trainer = new Trainer(1);
        ObjectBytes.Fields fields = bytes.of(trainer);
        assertThat(fields.children()).containsOnlyKeys("any", "losses", "seen")
                .containsEntry("any", trainer.any).containsEntry("losses", trainer.losses);
    }

    @Test
    void equalObjectsGiveEqualBytes() {
        assertThat(new ObjectBytes(CLASSES).of(new Trainer(1)).bytes()).isEqualTo(bytes.of(new Trainer(1)).bytes());
        Trainer other = new Trainer(1);
        other.note = "";
        assertThat(bytes.of(other).bytes()).isNotEqualTo(bytes.of(new Trainer(1)).bytes());
    }

    @Test
    void aHiddenFieldHasTheNameOfItsClass() {
        Trainer trainer = new Trainer(1);
        assertThat(new ClassFields(Trainer.class).of(trainer)).containsEntry("step", 2)
                .containsEntry(Base.class.getName() + ".step", 1);
    }

    @Test
    void anInnerObjectKeepsItsOuterOne() {
        ObjectBytes inner = new ObjectBytes(StateClasses.of(Inner.class));
        Inner made = new Inner();
        made.value = 4;
        ObjectBytes.Fields fields = inner.of(made);
        assertThat(fields.children()).containsValue(this);
        Inner back = (Inner) inner.allocate(Inner.class);
        inner.fill(back, fields.bytes(), fields.children());
        assertThat(back.outer()).isSameAs(this);
        assertThat(back.value).isEqualTo(4);
    }

    @Test
    void aClassMayGrowReorderAndWiden() {
        ObjectBytes.Fields old = bytes.of(new Old());
        Grown grown = (Grown) bytes.allocate(Grown.class);
        bytes.fill(grown, old.bytes(), old.children());
        assertThat(grown.kept).isEqualTo(5);
        assertThat(grown.widened).isEqualTo(6);
        assertThat(grown.gone).isEqualTo("gone");
        assertThat(grown.child).containsExactly("a");
        assertThat(grown.added).isEqualTo("as made");
        assertThat(grown.lock).isEqualTo("made");
    }

    @Test
    void aFieldThatTheClassLacksIsAnErrorThatNamesIt() {
        ObjectBytes.Fields old = bytes.of(new Old());
        ObjectBytes now = new ObjectBytes(StateClasses.of(Shrunk.class));
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> now.fill(now.allocate(Shrunk.class), old.bytes(), old.children()))
                .withMessageMatching(
                        "was saved with the field 'gone', which .*Shrunk does not have \\[CROFT-OBJECT].*upgrader.*");
    }

    @Test
    void aFieldOfAnotherTypeIsAnErrorThatNamesIt() {
        ObjectBytes.Fields old = bytes.of(new Old());
        ObjectBytes now = new ObjectBytes(StateClasses.of(Retyped.class));
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> now.fill(now.allocate(Retyped.class), old.bytes(), Map.of()))
                .withMessageContaining(
                        "a field kept that takes a java.lang.String, but was saved with a java.lang.Int");
    }

    @Test
    void anUpgraderBringsFieldsUpToDate() {
        ObjectBytes.Fields old = bytes.of(new Old());
        ObjectBytes now = new ObjectBytes(StateClasses.of().upgrading(Shrunk.class, fields -> {
            assertThat(fields).containsOnlyKeys("gone", "kept", "widened", "child");
            fields.remove("gone");
            fields.remove("child");
            fields.put("kept", fields.remove("widened"));
        }));
        Shrunk shrunk = (Shrunk) now.allocate(Shrunk.class);
        now.fill(shrunk, old.bytes(), old.children());
        assertThat(shrunk.kept).isEqualTo(6);
    }

    static final class ListOfOurs extends ArrayList<String> {
        private static final long serialVersionUID = 1;
    }

    @Test
    void aClassWhoseFieldsAreClosedIsRefusedWithWhatToDo() {
        ObjectBytes closed = new ObjectBytes(StateClasses.of(ListOfOurs.class));
        assertThatIllegalArgumentException().isThrownBy(() -> closed.of(new ListOfOurs()))
                .withMessageContaining("java.util.ArrayList").withMessageContaining("open the package java.util to")
                .withMessageContaining("Serializer of its own");
        assertThatIllegalArgumentException().isThrownBy(() -> closed.allocate(ListOfOurs.class))
                .withMessageContaining("Serializer of its own");
    }

    static final class Failing {
        Failing() {
            throw new IllegalStateException("no luck");
        }
    }

    @Test
    void aConstructorThatFailsIsATypedError() {
        ObjectBytes failing = new ObjectBytes(StateClasses.of(Failing.class));
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> failing.allocate(Failing.class))
                .withMessageContaining("Failing").withMessageContaining("no luck");
    }

    /// A class with a serializer of its own.
    record Node(String label, List<Object> parts, @Nullable Object next) {}

    static final class Graph {
        String label = "";
        @Nullable
        Object first;
        List<Object> rest = new ArrayList<>();
        @Nullable
        Object last;
    }

    static final class GraphSerializer extends Serializer<Graph> {
        @Override
        public void write(Kryo kryo, Output out, Graph graph) {
            out.writeString(graph.label);
            kryo.writeClassAndObject(out, graph.first);
            kryo.writeObject(out, graph.rest);
            kryo.writeObjectOrNull(out, graph.last, Graph.class);
            kryo.writeObject(out, Mode.EVAL);
            kryo.writeClassAndObject(out, Instant.EPOCH);
            kryo.writeClass(out, Trainer.class);
            kryo.writeObject(out, graph.rest, new CollectionSerializer<>());
        }

        @Override
        @SuppressWarnings("unchecked")
        public Graph read(Kryo kryo, Input in, Class<? extends Graph> type) {
            Graph graph = new Graph();
            kryo.reference(graph);
            graph.label = in.readString();
            graph.first = kryo.readClassAndObject(in);
            graph.rest = kryo.readObject(in, List.class);
            graph.last = kryo.readObjectOrNull(in, Graph.class);
            assertThat(kryo.readObject(in, Mode.class)).isSameAs(Mode.EVAL);
            assertThat(kryo.readClassAndObject(in)).isEqualTo(Instant.EPOCH);
            assertThat(kryo.readClass(in).getType()).isEqualTo(Trainer.class);
            assertThat((List<Object>) kryo.readObject(in, ArrayList.class, new CollectionSerializer<>()))
                    .isEqualTo(graph.rest);
            return graph;
        }
    }

    private static final ObjectBytes GRAPHS = new ObjectBytes(
            CLASSES.with(Graph.class, new GraphSerializer()));

    @Test
    void whatASerializerHandsToKryoAreChildren() {
        Graph graph = new Graph();
        graph.label = "g";
        graph.first = new Trainer(1);
        graph.rest.add(new float[2]);
        graph.rest.add(new Trainer(2));
        graph.last = graph;
        ObjectBytes.Fields fields = GRAPHS.of(graph);
        assertThat(fields.children().values()).containsExactly(graph.first, graph.rest, graph, graph.rest.get(0),
                graph.rest.get(1));
        assertThat(fields.children()).containsOnlyKeys("0", "1", "2", "3", "4");
        Graph back = (Graph) GRAPHS.read(Graph.class, fields.bytes(), fields.children());
        assertThat(back.label).isEqualTo("g");
        assertThat(back.first).isSameAs(graph.first);
        assertThat(back.rest).isSameAs(graph.rest);
        assertThat(back.last).isSameAs(graph);
        assertThat(GRAPHS.isEarly(Graph.class)).isFalse();
        assertThat(GRAPHS.isEarly(Trainer.class)).isTrue();
    }

    @Test
    void whatASerializerWritesAsAValueIsNoChild() {
        Graph graph = new Graph();
        graph.first = "text";
        ObjectBytes.Fields fields = GRAPHS.of(graph);
        assertThat(fields.children()).hasSize(1).containsValue(graph.rest);
        assertThat(((Graph) GRAPHS.read(Graph.class, fields.bytes(), fields.children())).first).isEqualTo("text");
    }

    @Test
    void childrenOfASerializerThatAreMissingOrLeftAreErrors() {
        ObjectBytes.Fields fields = GRAPHS.of(new Graph());
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> GRAPHS.read(Graph.class, fields.bytes(), Map.of()))
                .withMessageContaining("the child 0 is missing").withMessageContaining("CROFT-OBJECT");
        Map<String, Object> more = new HashMap<>(fields.children());
        more.put("1", "more");
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> GRAPHS.read(Graph.class, fields.bytes(), more))
                .withMessageContaining("has the child 1, which");
    }

    @Test
    void aSerializerThatFailsIsAnErrorThatNamesTheClass() {
        ObjectBytes failing = new ObjectBytes(StateClasses.of().with(Graph.class, new Serializer<Graph>() {
            @Override
            public void write(Kryo kryo, Output out, Graph graph) {
                throw new IllegalStateException("not now");
            }

            @Override
            public Graph read(Kryo kryo, Input in, Class<? extends Graph> type) {
                return null;
            }
        }));
        assertThatIllegalArgumentException().isThrownBy(() -> failing.of(new Graph()))
                .withMessageContaining("Graph").withMessageContaining("not now");
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> failing.read(Graph.class, new byte[0], Map.of()))
                .withMessageContaining("Graph");
    }
}
