package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.StateTreeWriter;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Keys that were chosen to have equal hashes, so that a map compares each with all others.
class HostileHashesTest {
    private static final int MANY = 20_000;

    record Point(int x, int y) {}

    /// A key that counts how often it is compared, and whose hash changes as if the file had been made by somebody
    /// else.
    record Counted(int number) {
        private static final AtomicLong COMPARISONS = new AtomicLong();
        private static volatile boolean hashesAreEqual;

        @Override
        public int hashCode() {
            return hashesAreEqual ? 1 : number;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            COMPARISONS.incrementAndGet();
            return other instanceof Counted counted && counted.number == number;
        }
    }

    private static final StateClasses CLASSES = StateClasses.of(Point.class, Counted.class);

    @TempDir
    Path directory;

    /// The hash of a pair is 31 times that of its first element plus that of its second, and a constant.
    private static int secondOfEqualHash(int first) {
        return -31 * first;
    }

    private static List<Object> manyOf(int count, IntFunction<Object> element) {
        return new ArrayList<>(IntStream.range(0, count).mapToObj(element).toList());
    }

    /// Saving refuses such keys, so the tree is written by hand.
    private static byte[] tree(int count, boolean isMap) {
        StateTreeWriter tree = new StateTreeWriter();
        if (isMap) {
            tree.openMap(count);
        } else {
            tree.openSet(count);
        }
        for (int i = 0; i < count; i++) {
            tree.openTuple(2);
            tree.writeInt32(i);
            tree.writeInt32(secondOfEqualHash(i));
            if (isMap) {
                tree.writeNull();
            }
        }
        return tree.toByteArray();
    }

    private void refused(Path path, String... what) {
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> {
            try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(CLASSES))) {
                c.state();
            }
        }).withMessageStartingWith(path + ": ").withMessageContainingAll(what);
    }

    @ParameterizedTest
    @ValueSource(ints = {1000, MANY})
    void keysAreComparedOnlyIfThatIsNotTooMuchWork(int count) throws IOException {
        Path path = directory.resolve("a.croft");
        Counted.hashesAreEqual = false;
        Checkpoint.save(path, new LinkedHashSet<>(manyOf(count, Counted::new)),
                SaveOptions.defaults().classes(CLASSES));
        Counted.hashesAreEqual = true;
        Counted.COMPARISONS.set(0);
        try {
            if (count == MANY) {
                refused(path, Integer.toString(count));
                assertThat(Counted.COMPARISONS).hasValue(0);
            } else {
                try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(CLASSES))) {
                    assertThat((Set<?>) c.state()).hasSize(count);
                }
                assertThat(Counted.COMPARISONS.get()).isBetween(1L, (long) count * count);
            }
        } finally {
            Counted.hashesAreEqual = false;
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void tuplesOfEqualHashesAreRefused(boolean isMap) throws IOException {
        Path path = CroftImage.withTree(directory.resolve("a.croft"), tree(MANY, isMap));
        refused(path, "[CROFT-KEYS]", Integer.toString(MANY));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void someTuplesOfEqualHashesOpen(boolean isMap) throws IOException {
        Path path = CroftImage.withTree(directory.resolve("a.croft"), tree(1000, isMap));
        try (Checkpoint c = Checkpoint.open(path)) {
            Object state = c.state();
            Collection<?> keys = state instanceof Map<?, ?> map ? map.keySet() : (Set<?>) state;
            assertThat(keys).hasSize(1000);
        }
    }

    /// The map keeps strings in a tree, but searches all of it for a number.
    @Test
    void numbersAmongStringsOfTheirHashAreRefused() throws IOException {
        StateTreeWriter tree = new StateTreeWriter();
        List<String> strings = stringsOfEqualHash(13);
        int hash = strings.getFirst().hashCode();
        tree.openSet(2 * strings.size());
        for (int i = 0; i < strings.size(); i++) {
            tree.writeString(strings.get(i));
            tree.writeInteger((long) i << Integer.SIZE | Integer.toUnsignedLong(i ^ hash));
        }
        refused(CroftImage.withTree(directory.resolve("a.croft"), tree.toByteArray()), "[CROFT-KEYS]");
    }

    private static List<String> stringsOfEqualHash(int length) {
        List<String> strings = List.of("");
        for (int i = 0; i < length; i++) {
            strings = strings.stream().flatMap(start -> List.of(start + "Aa", start + "BB").stream()).toList();
        }
        return strings;
    }

    @Test
    void keysOfOneClassThatCompareAreNotRefused() throws IOException {
        Map<Object, Object> state = new LinkedHashMap<>();
        stringsOfEqualHash(14).forEach(text -> state.put(text, 1L));
        Set<Object> diagonal = new LinkedHashSet<>();
        for (long i = 0; i < MANY; i++) {
            diagonal.add(i << Integer.SIZE | i);
        }
        state.put("diagonal", List.of(diagonal));
        Path path = directory.resolve("a.croft");
        Checkpoint.save(path, state);
        try (Checkpoint c = Checkpoint.open(path)) {
            Object back = c.state();
            assertThat(back).isEqualTo(state);
        }
    }

    /// A thousand parts are in the file once, and would be hashed for each of the keys.
    @Test
    void largePartsThatManyKeysShareAreRefused() throws IOException {
        StateTreeWriter tree = new StateTreeWriter();
        tree.openList(2);
        int shared = tree.openTuple(1000);
        for (int i = 0; i < 1000; i++) {
            tree.writeInt8((byte) 1);
        }
        tree.openSet(MANY);
        for (int i = 0; i < MANY; i++) {
            tree.openTuple(2);
            tree.writeReference(shared);
            tree.writeInt32(i);
        }
        refused(CroftImage.withTree(directory.resolve("a.croft"), tree.toByteArray()), "[CROFT-KEYS]");
    }

    @Test
    void listsOfEqualHashesInASetAreRefusedWithTheirPlace() throws IOException {
        List<Object> lists = manyOf(MANY, i -> new ArrayList<>(List.of(i, secondOfEqualHash(i))));
        Path path = directory.resolve("a.croft");
        Checkpoint.save(path, Map.of("seen", new Typed("java:java.util.LinkedHashSet", lists)));
        refused(path, "the value at 'seen' has " + MANY + " keys", "[CROFT-OBJECT]");
    }

    @ParameterizedTest
    @ValueSource(strings = {"java.util.LinkedHashMap", "java.util.concurrent.ConcurrentHashMap"})
    void listsOfEqualHashesInAMapAreRefusedWithTheirPlace(String type) throws IOException {
        List<Object> pairs = manyOf(MANY,
                i -> Tuple.of(new ArrayList<>(List.of(i, secondOfEqualHash(i))), 1L));
        Path path = directory.resolve("a.croft");
        Checkpoint.save(path, Map.of("seen", new Typed("java:" + type, pairs)));
        refused(path, "the value at 'seen' has " + MANY + " keys", "[CROFT-OBJECT]");
    }

    @Test
    void whatWouldBeRefusedIsNotSaved() {
        Path path = directory.resolve("a.croft");
        // The program itself compares them all.
        int few = 5000;
        Set<Object> records = new LinkedHashSet<>(manyOf(few, i -> new Point(i, secondOfEqualHash(i))));
        Set<Object> tuples = new LinkedHashSet<>(manyOf(few, i -> Tuple.of(i, secondOfEqualHash(i))));
        for (Set<Object> state : List.of(records, tuples)) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Checkpoint.save(path, List.of(state), SaveOptions.defaults().classes(CLASSES)))
                    .withMessageContainingAll("cannot save the value at '0", Integer.toString(few), "equal hashes");
        }
        assertThat(path).doesNotExist();
    }

    @Test
    void manyKeysOfManyHashesOpen() throws IOException {
        Path path = directory.resolve("a.croft");
        Map<Object, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < MANY; i++) {
            state.put(Tuple.of(i / 250L, i % 250L, "a"), 1L);
        }
        Set<Object> points = new LinkedHashSet<>(manyOf(MANY, i -> new Point(i / 250, i % 250)));
        Checkpoint.save(path, List.of(state, points), SaveOptions.defaults().classes(CLASSES));
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().classes(CLASSES))) {
            Object back = c.state();
            assertThat(back).isEqualTo(List.of(state, points));
        }
    }
}
