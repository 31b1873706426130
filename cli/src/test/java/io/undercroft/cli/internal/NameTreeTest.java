package io.undercroft.cli.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NameTreeTest {
    private final Tensor tensor = Tensor.zeros(DType.FLOAT32, 1);
    private final NameTree tree = new NameTree();

    @ParameterizedTest
    @ValueSource(strings = {"a", "a/b", "a/b/c", "", "a//b", "a~1b/c~0d", "~01"})
    void aTensorHasItsNameAgain(String name) {
        tree.put(name, tensor);

        assertThat(StateIndex.of(tree.root()).tensors()).containsExactly(Map.entry(name, tensor));
    }

    @Test
    void tensorsOfOneMapAreInOneMap() {
        tree.put("model/a", tensor);
        tree.put("model/b", tensor);

        assertThat(tree.root()).containsExactly(Map.entry("model", Map.of("a", tensor, "b", tensor)));
    }

    @Test
    void whatIsBelowATensorGetsItsWholeNameAsAKey() {
        Map<String, Tensor> expected = new LinkedHashMap<>();
        expected.put("a", tensor);
        expected.put("a/b", tensor);

        expected.forEach(tree::put);

        assertThat(tree.root()).isEqualTo(expected);
    }

    @Test
    void aNameDeeperThanAStateMayBeStaysWhole() {
        String name = "a/".repeat(1000) + "a";

        tree.put(name, tensor);

        assertThat(tree.root()).containsExactly(Map.entry(name, tensor));
    }
}
