package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.TestData;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

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
        state.put("many", manyOf(300_000, _ -> new LinkedHashMap<>()));
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(directory.resolve("a.croft"), state))
                .withMessageContaining("cannot save the value at 'many/")
                .withMessageContaining("no reader would accept it")
                .withMessageContaining("memory");
        assertThat(directory).isEmptyDirectory();
    }

    /// Of a file of two kilobytes, 2^40 bytes of which are zeros that it does not store.
    @Test
    void zerosThatAreNotStoredAreNeitherReadNorCopiedToBeSavedInTheBackground() throws IOException {
        Tensor zeros = Tensor.of(TestData.unstoredZeros(1L << 40), DType.FLOAT32, 0,
                Shape.of(1L << 38));
        Path file = directory.resolve("a.croft");
        assertThat(Checkpoint.saveAsync(file, Map.of("w", zeros, "v", Tensor.of(1f))).join().dedup().orElseThrow()
                .zeros()).isEqualTo(1L << 40);
        try (Checkpoint checkpoint = Checkpoint.open(file);
                PendingSave save = Checkpoint.saveAsync(directory.resolve("b.croft"), checkpoint.state())) {
            assertThat(save.join().nbytes()).isLessThan(4096);
            assertThat(checkpoint.tensor("w").storage().isMaterialized()).isFalse();
        }
    }

    /// States of many containers, each with a count of them whose tree is too costly for its size, or 0, and counts
    /// that are not: less of them, and so many that the tree has more than 1 MiB.
    static Stream<Arguments> manyContainers() {
        return Stream.of(makes("empty map", _ -> new LinkedHashMap<>(), 300_000, 1000, 100_000, 1_000_000),
                makes("empty list", _ -> List.of(), 0, 1000, 100_000, 600_000),
                makes("tuple", i -> Tuple.of(i % 100L), 200_000, 1000, 100_000, 400_000),
                makes("pair", i -> Tuple.of((long) i, 2L * i), 0, 1000, 100_000, 200_000),
                makes("map", i -> new LinkedHashMap<>(Map.of("id", i % 100L, "t", 9L)), 0, 1000, 100_000),
                makes("list of lists", i -> List.of(List.of((long) i)), 100_000, 1000, 50_000, 200_000));
    }

    private static Arguments makes(String name, IntFunction<Object> maker, int tooMany, int... counts) {
        return argumentSet(name, maker, tooMany, counts);
    }

    @ParameterizedTest
    @MethodSource("manyContainers")
    void whatIsSavedCanBeOpened(IntFunction<Object> maker, int tooMany, int[] counts) throws IOException {
        Path file = directory.resolve("a.croft");
        for (int count : counts) {
            List<Object> state = manyOf(count, maker);
            Checkpoint.save(file, state);
            try (Checkpoint opened = Checkpoint.open(file)) {
                assertThat(opened.tree()).isEqualTo(state);
            }
        }
        if (tooMany > 0) {
            assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(file, manyOf(tooMany, maker)))
                    .withMessageContaining("cannot save the value at '");
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
                .withMessageContaining("cannot save the value at 'k/k/").withMessageContaining("128");
    }
}
