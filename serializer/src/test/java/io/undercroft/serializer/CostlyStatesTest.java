package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.TypedMap;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// States of very many small values: what takes more memory than its size in a file justifies is refused when it is
/// saved, and all else can be opened.
class CostlyStatesTest {
    @TempDir
    Path directory;

    private static List<Object> manyOf(int count, IntFunction<Object> element) {
        return new ArrayList<>(IntStream.range(0, count).mapToObj(element).toList());
    }

    @Test
    void manyEmptyMapsInASmallTreeAreRefusedByPath() throws IOException {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("few", manyOf(10, _ -> new LinkedHashMap<>()));
        state.put("many", manyOf(450_000, _ -> new LinkedHashMap<>()));
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(directory.resolve("a.croft"), state))
                .withMessageContaining("cannot save state/many/").withMessageContaining("no reader would accept it")
                .withMessageContaining("memory");
        assertThat(directory).isEmptyDirectory();
    }

    @ParameterizedTest
    @ValueSource(ints = {1000, 100_000, 200_000, 300_000, 1_000_000})
    void whatIsSavedCanBeOpened(int count) throws IOException {
        List<IntFunction<Object>> makers = List.of(_ -> new LinkedHashMap<>(), _ -> List.of(), i -> Tuple.of(i % 100L),
                i -> new LinkedHashMap<>(Map.of("id", i % 100L, "t", 9L)), i -> Tuple.of((long) i, 2L * i),
                i -> List.of(List.of((long) i)));
        for (IntFunction<Object> maker : makers) {
            List<Object> state = manyOf(count, maker);
            Path file = directory.resolve("a.croft");
            try {
                Checkpoint.save(file, state);
            } catch (IllegalArgumentException e) {
                // A tree of a few bytes for each container, and of not much more than 1 MiB.
                assertThat(count).isBetween(60_000, 300_000);
                assertThat(e).hasMessageContaining("cannot save state/");
                continue;
            }
            try (Checkpoint opened = Checkpoint.open(file)) {
                assertThat(opened.tree()).isEqualTo(state);
            }
            Files.delete(file);
        }
    }

    /// An object takes two levels in a file.
    @Test
    void whatIsTooDeepForAFileIsRefusedByPath() throws IOException {
        Object state = 1L;
        for (int i = 0; i < 70; i++) {
            TypedMap map = new TypedMap("some.Type");
            map.put("k", state);
            state = map;
        }
        @Nullable
        Object deep = state;
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(directory.resolve("a.croft"), deep))
                .withMessageContaining("cannot save state/k/k/").withMessageContaining("128");
    }
}
