package io.undercroft.serializer.internal.tree;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Tensor;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;

class StatePartTest {
    @Test
    void aPartIsFoundByKeysPositionsAndAttributes() {
        Typed typed = new Typed("a.B", List.of("x", Map.of("deep/er", 7)));
        typed.attributes().put("note", "said");
        Map<String, Object> state = Map.of("typed", typed);

        assertThat(StatePart.at(state, "typed/1/deep~1er")).isEqualTo(7);
        assertThat(StatePart.at(state, "typed/note")).isEqualTo("said");
        assertThatThrownBy(() -> StatePart.at(state, "typed/2")).isInstanceOf(NoSuchElementException.class)
                .hasMessageContainingAll("'typed/2'", "'typed' has '0', '1', 'note'");
    }

    @Test
    void keysAreTypedAsTheyAreWhereThatIsClear() {
        Map<String, Object> state = Map.of("params/Dense_0", Map.of("kernel", 1), "a/b", Map.of("c", 2), "a",
                Map.of("b/c", 3), "t~1", 4);

        assertThat(StatePart.at(state, "params/Dense_0")).isEqualTo(Map.of("kernel", 1));
        assertThat(StatePart.at(state, "params/Dense_0/kernel")).isEqualTo(1);
        assertThat(StatePart.at(state, "t~1")).isEqualTo(4);
        assertThat(StatePart.at(state, "a/b~1c")).isEqualTo(3);
        assertThatThrownBy(() -> StatePart.at(state, "a/b/c")).isInstanceOf(NoSuchElementException.class)
                .hasMessageContainingAll("'a/b/c' may mean", "'a~1b/c'", "'a/b~1c'");
        assertThatThrownBy(() -> StatePart.at(state, "params/Dense_1")).isInstanceOf(NoSuchElementException.class)
                .hasMessageContaining("'params/Dense_0'");
    }

    @Test
    void aStateThatHoldsItselfIsSearchedOnce() {
        Map<String, Object> state = new HashMap<>();
        state.put("", state);
        state.put("a/", state);
        state.put("a", state);
        assertThatThrownBy(() -> StatePart.at(state, "a//".repeat(1000) + "b"))
                .isInstanceOf(NoSuchElementException.class);
    }

    @Test
    void aValueThatHoldsItselfHasItsAttributes() {
        Typed around = new Typed("a.B", null);
        around.value(around);
        around.attributes().put("note", "said");

        assertThat(StatePart.at(around, "note")).isEqualTo("said");
    }

    @Test
    void aParameterThatHoldsItselfIsNoTensorOfItsModule() {
        Typed parameter = new Typed("torch.nn.parameter.Parameter", null);
        parameter.value(parameter);
        Map<String, Object> parameters = new LinkedHashMap<>();
        parameters.put("weight", parameter);
        parameters.put("bias", Tensor.of(1f));
        TypedMap module = new TypedMap("python:torch.nn.modules.linear.Linear");
        module.put("_parameters", parameters);
        module.put("_buffers", Map.of());
        module.put("_modules", Map.of());

        assertThat(PythonObjects.stateDict(module)).containsOnlyKeys("bias");
    }
}
