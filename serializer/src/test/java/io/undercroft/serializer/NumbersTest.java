package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.StateTreeWriter;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Numbers come back in the classes that they were saved in.
class NumbersTest {
    @TempDir
    Path directory;

    @Test
    void everyNumberKeepsItsClass() throws IOException {
        List<Number> numbers = List.of((byte) -1, (short) -2, -3, -4L, 0.1f, 0.1, Byte.MIN_VALUE, Short.MIN_VALUE,
                Integer.MIN_VALUE, Long.MIN_VALUE, Float.MIN_VALUE, Integer.MAX_VALUE);
        Path path = directory.resolve("numbers.croft");
        Checkpoint.save(path, Map.of("list", numbers, "set", new LinkedHashSet<>(numbers)));
        try (Checkpoint c = Checkpoint.open(path)) {
            Map<?, ?> state = (Map<?, ?>) c.state();
            assertThat(state.get("list")).isEqualTo(numbers);
            assertThat(state.get("set")).isEqualTo(new LinkedHashSet<>(numbers));
        }
    }

    @Test
    void anOptimizersIntegerKeysFindItsTensors() throws IOException {
        Tensor momentum = Tensor.of(1f, 2f);
        Path path = directory.resolve("optimizer.croft");
        Checkpoint.save(path, Map.of("state", Map.of(7, momentum)));
        try (Checkpoint c = Checkpoint.open(path)) {
            Map<?, ?> state = (Map<?, ?>) ((Map<?, ?>) c.state()).get("state");
            assertThat(state.get(7)).isSameAs(c.tensor("state/7"));
        }
    }

    static Stream<Set<?>> equalNumbers() {
        return Stream.of(Set.of(7, 7L), Set.of((byte) 7, (short) 7), Set.of(0.5f, 0.5),
                Set.of(Tuple.of(7), Tuple.of(7L)));
    }

    @ParameterizedTest
    @MethodSource("equalNumbers")
    void equalNumbersOfDifferentWidthsAreOneKey(Set<?> keys) {
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(directory.resolve("a.croft"), keys))
                .withMessageContaining("comes twice, as numbers of different widths");
    }

    static Stream<Consumer<StateTreeWriter>> equalKeys() {
        return Stream.of(tree -> {
            tree.openSet(2);
            tree.writeInt32(7);
            tree.writeInteger(7);
        }, tree -> {
            tree.openMap(2);
            tree.writeFloat32(0.5f);
            tree.writeNull();
            tree.writeFloat(0.5);
            tree.writeNull();
        });
    }

    @ParameterizedTest
    @MethodSource("equalKeys")
    void aFileWithSuchKeysIsRefused(Consumer<StateTreeWriter> content) throws IOException {
        StateTreeWriter tree = new StateTreeWriter();
        content.accept(tree);
        try (Checkpoint c = Checkpoint.open(CroftImage.withTree(directory.resolve("a.croft"), tree.toByteArray()))) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(c::state).withMessageContaining("twice")
                    .extracting(FormatException::code).isEqualTo("V16-TREE");
        }
    }

    @Test
    void keysThatAreEqualAsNumbersOfOneKindOnlyAreTwo() throws IOException {
        Set<Object> keys = new LinkedHashSet<>(Arrays.asList(1, 1.0f, true, 0.1f, 0.1));
        Path path = directory.resolve("a.croft");
        Checkpoint.save(path, keys);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.state()).isEqualTo(keys);
        }
    }
}
