package io.undercroft.serializer.internal.graph;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.StateClasses;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ObjectTypeTest {
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
        Object child = "";
        int widened;
        String kept = "";
        String gone = "";
    }

    private final class Inner {
        private int value = 3;

        ObjectTypeTest outer() {
            return ObjectTypeTest.this;
        }
    }

    private static final StateClasses CLASSES = StateClasses.of(Trainer.class, Mode.class, Old.class, Grown.class);

    /// Returns an object of a class that has the fields of another object.
    private static <T> T copy(Object object, Class<T> type) {
        ObjectType known = new ObjectType(type);
        Object made = known.newInstance();
        known.set(made, new ObjectType(object.getClass()).valuesOf(object), CLASSES);
        return type.cast(made);
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
        int made = Trainer.made;
        Trainer copy = copy(trainer, Trainer.class);
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
        assertThat(Trainer.made).isEqualTo(made);
    }

    @Test
    void aHiddenFieldHasTheNameOfItsClass() {
        Trainer trainer = new Trainer(1);
        assertThat(new ObjectType(Trainer.class).valuesOf(trainer)).containsEntry("step", 2)
                .containsEntry(Base.class.getName() + ".step", 1);
    }

    @Test
    void anInnerObjectKeepsItsOuterOne() {
        Inner made = new Inner();
        made.value = 4;
        assertThat(new ObjectType(Inner.class).valuesOf(made)).containsValue(this);
        Inner back = copy(made, Inner.class);
        assertThat(back.outer()).isSameAs(this);
        assertThat(back.value).isEqualTo(4);
    }

    @Test
    void aClassMayGrowReorderAndWiden() {
        Grown grown = copy(new Old(), Grown.class);
        assertThat(grown.kept).isEqualTo(5);
        assertThat(grown.widened).isEqualTo(6);
        assertThat(grown.gone).isEqualTo("gone");
        assertThat(grown.child).containsExactly("a");
        assertThat(grown.added).isEqualTo("as made");
        assertThat(grown.lock).isEqualTo("made");
    }

    @Test
    void aFieldThatTheClassLacksIsAnErrorThatNamesIt() {
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> copy(new Old(), Shrunk.class))
                .withMessageMatching(
                        "was saved with 'child', 'gone', 'widened', which the class .*Shrunk does not have "
                                + "\\[CROFT-OBJECT].*upgrader.*");
    }

    @Test
    void aFieldOfAnotherTypeIsAnErrorThatNamesIt() {
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> copy(new Old(), Retyped.class))
                .withMessageContaining(
                        "a field kept that takes java.lang.String, but was saved with a value of type java.lang.Int");
    }

    static final class ListOfOurs extends ArrayList<String> {
        private static final long serialVersionUID = 1;
    }

    @Test
    void aClassWhoseFieldsAreClosedIsRefusedWithWhatToDo() {
        assertThatIllegalArgumentException().isThrownBy(() -> new ObjectType(ListOfOurs.class))
                .withMessageContaining("java.util.ArrayList").withMessageContaining("open the package java.util to")
                .withMessageContaining("StateCodec");
    }

    static final class Failing {
        Failing() {
            throw new IllegalStateException("no luck");
        }
    }

    @Test
    void aConstructorThatFailsIsATypedError() {
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> new ObjectType(Failing.class).newInstance())
                .withMessageContaining("Failing").withMessageContaining("no luck");
    }
}
