package io.undercroft.properties.laws;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.state.Tuple;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// What would not come back as it was is refused when it is saved, and the file stays what it was.
class UnsavableStateTest {
    @TempDir
    Path directory;

    @SuppressWarnings("IdentityHashMapUsage")
    static Stream<Object> states() {
        return Stream.of(
                Map.of("a", new Object()),
                Map.of("a", List.of(1, Thread.currentThread())),
                Map.of("unpaired surrogate", "\uD800"),
                Map.of("\uDC00", "unpaired surrogate"),
                Map.of(1, "int", 1L, "long: the same integer in a file"),
                Map.of(1.0, "double", 1f, "float: the same number in a file"),
                Set.of(Tuple.of((short) 7), Tuple.of(7L)),
                foundByIdentity(),
                deep());
    }

    private static Object foundByIdentity() {
        IdentityHashMap<String, String> map = new IdentityHashMap<>();
        map.put("a", "found by identity");
        return map;
    }

    @ParameterizedTest
    @MethodSource("states")
    void isRefusedAndTheFormerFileStays(Object state) throws IOException {
        Path path = Files.writeString(directory.resolve("kept.croft"), "what was there");
        assertThatThrownBy(() -> Checkpoint.save(path, state)).isInstanceOf(IllegalArgumentException.class)
                .message().isNotBlank().doesNotContain("\n");
        assertThat(path).hasContent("what was there");
        try (Stream<Path> files = Files.list(directory)) {
            assertThat(files).containsExactly(path);
        }
    }

    private static Object deep() {
        List<Object> outermost = new ArrayList<>();
        List<Object> list = outermost;
        for (int i = 0; i < 200; i++) {
            List<Object> inner = new ArrayList<>();
            list.add(inner);
            list = inner;
        }
        return outermost;
    }
}
