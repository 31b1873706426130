package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Keys and nesting that a file can ask for in a few bytes, and that would take for ever.
class HostileKeysTest {
    private static final int DOUBLINGS = 60;
    private static final String SET = "java:java.util.LinkedHashSet";

    record Box(Object held) {}

    enum Phase {
        TRAIN
    }

    private static final StateClasses CLASSES = StateClasses.of(Box.class, Phase.class);

    @TempDir
    Path directory;

    private Object open(Object tree) throws IOException {
        Path path = directory.resolve("a.croft");
        Checkpoint.save(path, tree);
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(CLASSES))) {
            return c.state();
        }
    }

    private void refused(Object tree, String what) {
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> open(tree)).withMessageContaining(what)
                .withMessageContaining("[CROFT-OBJECT]");
    }

    private static List<Object> listOf(Object... elements) {
        return new ArrayList<>(List.of(elements));
    }

    private static Object doubled() {
        Object list = listOf(1L);
        for (int i = 0; i < DOUBLINGS; i++) {
            list = listOf(list, list);
        }
        return list;
    }

    private static TypedMap box(Object held) {
        TypedMap box = new TypedMap("java:" + Box.class.getName());
        box.put("held", held);
        return box;
    }

    @Test
    void aKeyThatDoublesIsRefused() {
        refused(new Typed(SET, listOf(doubled())), "more than 65536 parts");
        refused(new Typed("java:java.util.TreeSet", listOf(doubled())), "more than 65536 parts");
        refused(new Typed("java:java.util.LinkedHashMap", listOf(Tuple.of(doubled(), 1L))), "more than 65536 parts");
        refused(new Typed(SET, listOf(box(doubled()))), "more than 65536 parts");
        refused(new Typed(SET, listOf(new Typed("java:java.util.Optional", listOf(doubled())))),
                "more than 65536 parts");
    }

    @Test
    void aKeyThatHoldsItselfIsRefused() {
        List<Object> self = listOf(1L);
        self.add(self);
        refused(new Typed(SET, listOf(self)), "holds itself");
    }

    @Test
    void whatAKeyIsTheKeyOfMayBeAsLargeAsItLikes() throws IOException {
        Map<Object, Object> map = new LinkedHashMap<>(Map.of(new Box(1L), doubled()));
        Path path = directory.resolve("b.croft");
        Checkpoint.save(path, map, SaveOptions.defaults().classes(CLASSES));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(CLASSES))) {
            assertThat(((Map<?, ?>) c.state()).keySet()).isEqualTo(Set.of(new Box(1L)));
        }
    }

    @Test
    void aKeyOfAllowedSizeComesBack() throws IOException {
        Object key = List.of(new Box(Optional.of(List.of(1L, 2L))), Phase.TRAIN);
        Path path = directory.resolve("b.croft");
        Checkpoint.save(path, Set.of(key), SaveOptions.defaults().classes(CLASSES));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(CLASSES))) {
            assertThat(c.state()).isEqualTo(Set.of(key));
        }
    }

    @Test
    void aKeyThatCouldNotBeOpenedIsNotSaved() {
        List<Object> many = new ArrayList<>();
        for (int i = 0; i < 1 << 17; i++) {
            many.add(1L);
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(directory.resolve("b.croft"), new LinkedHashSet<>(List.of(many)),
                        SaveOptions.defaults().classes(CLASSES)))
                .withMessageContaining("more than 65536 parts");
    }

    /// The tree is no deeper than it may be, but the way over a reference is.
    @Test
    void objectsThatNestTooDeepByReferenceAreRefused() {
        List<Object> chain = listOf(1L);
        for (int i = 0; i < 100; i++) {
            chain = listOf(chain);
        }
        TypedMap box = box(1L);
        box.attributes().put("x", chain);
        Object deep = chain;
        for (int i = 0; i < 100; i++) {
            deep = listOf(deep);
        }
        refused(listOf(box, deep), "more than 128 deep");
    }

    /// Its text would be that of everything it holds.
    @Test
    void aConstantWhoseNameIsNoTextIsNotPrinted() {
        Object name = doubled();
        refused(new Typed("java:" + Phase.class.getName(), name), "has a name that is no text");
    }
}
