package io.undercroft.cli.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.Tensor;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
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
    void aValueThatHoldsItselfHasItsAttributes() {
        Typed around = new Typed("a.B", null);
        around.value(around);
        around.attributes().put("note", "said");

        assertThat(StatePart.at(around, "note")).isEqualTo("said");
        assertThat(StatePart.tensorsAmongOthers(around)).isEmpty();
    }

    @Test
    void tensorsBesideOtherThingsHaveAPath() {
        Map<String, Tensor> model = Map.of("w", Tensor.of(1f));
        assertThat(StatePart.tensorsAmongOthers(Map.of("epoch", 3, "model", model))).isEqualTo(Optional.of("model"));
        assertThat(StatePart.tensorsAmongOthers(model)).isEmpty();
    }
}
