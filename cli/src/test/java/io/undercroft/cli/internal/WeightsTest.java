package io.undercroft.cli.internal;

import static io.undercroft.cli.internal.PickledModules.module;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.MAP;

import io.undercroft.serializer.internal.tree.StatePart;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Tensor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class WeightsTest {
    private static Map<String, Object> model(int tensors) {
        Map<String, Object> model = new LinkedHashMap<>();
        for (int i = 0; i < tensors; i++) {
            model.put("w" + i, Tensor.of(1f));
        }
        return model;
    }

    private static Map<String, Object> state(Object... entries) {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < entries.length; i += 2) {
            state.put((String) entries[i], entries[i + 1]);
        }
        return state;
    }

    private static Optional<String> hint(Object state) {
        return Weights.in(state, "epoch", true);
    }

    @Test
    void theModelIsFoundNextToOtherThings() {
        assertThat(hint(state("epoch", 3, "model", model(1)))).contains("model");
        assertThat(hint(state("epoch", 3, "model", state("state_dict", model(2), "args", 1))))
                .contains("model/state_dict");
        assertThat(hint(state("state_dict", List.of(model(1), model(2)), "epoch", 1))).contains("state_dict/1");
        assertThat(hint(state("params", state("a", model(1), "b", model(1)), "other", model(1), "step", 1)))
                .contains("params");
    }

    @Test
    void theModelIsPreferredToAnOptimizerWithMoreTensors() {
        Map<Long, Object> optimizer = Map.of(0L, model(3), 1L, model(3));
        assertThat(hint(state("optimizer", state("state", optimizer, "param_groups", List.of()), "model", model(2))))
                .contains("model");
    }

    @Test
    void aModuleIsAPartOrElseItsStateDict() {
        TypedMap net = module(Map.of(), Map.of("fc", module(Map.of("w", new Typed("p", Tensor.of(1f))), Map.of())));
        Map<String, Object> state = state("net", net, "epoch", 1);
        assertThat(hint(state)).contains("net");
        assertThat(Weights.in(state, "epoch", false)).contains("net/state_dict");
        assertThat(Weights.in(net, "", false)).contains("state_dict");
        assertThat(StatePart.at(state, "net/state_dict")).asInstanceOf(MAP)
                .containsOnlyKeys("fc.w");
    }

    @Test
    void aStateOfTensorsOnlyAndOneWithoutTensorsHaveNone() {
        assertThat(hint(model(2))).isEmpty();
        assertThat(hint(state("epoch", 3, "names", List.of("a")))).isEmpty();
    }

    @Test
    void aPartWithTheRefusedValueIsNoRemedy() {
        Map<String, Object> state = state("model", model(2), "model2", model(1), "epoch", 3);
        assertThat(Weights.in(state, "model/w1", true)).contains("model2");
        assertThat(Weights.in(state, "model2/w0", true)).contains("model");
        assertThat(Weights.in(state("model", model(2), "epoch", 3), "model/w1", true)).isEmpty();
    }

    @Test
    void attributesAreSearchedAndKeepNoMapFromBeingAPart() {
        TypedMap dict = new TypedMap("collections.OrderedDict");
        dict.putAll(model(2));
        dict.attributes().put("_metadata", Map.of("", Map.of("version", 1L)));
        assertThat(hint(state("model", dict, "epoch", 1))).contains("model");
        TypedMap object = new TypedMap("python:app.Trainer");
        object.attributes().put("arguments", List.of(model(1), 3));
        assertThat(hint(state("trainer", object))).contains("trainer/arguments/0");
    }

    @Test
    void aMapAtTwoPlacesCountsAtBoth() {
        Map<String, Object> shared = model(2);
        assertThat(hint(state("model", state("a", shared, "b", shared), "other", model(3), "epoch", 1)))
                .contains("model");
    }

    @Test
    void aStateThatHoldsItselfIsSearchedOnce() {
        Map<String, Object> state = state("model", model(1), "epoch", 1);
        state.put("self", state);
        state.put("list", List.of(state));
        assertThat(hint(state)).contains("model");
    }
}
