package io.undercroft.properties;

import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// A state with some of everything in few bytes.
public final class Samples {
    private Samples() {}

    public static Map<String, Object> state() {
        Tensor weight = Tensor.of(Storage.copyOf(bytes(256)), DType.FLOAT32, 0, Shape.of(8, 8), 8, 1);
        TypedMap model = new TypedMap("collections.OrderedDict");
        model.put("wte.weight", weight);
        model.put("lm_head.weight", weight.transpose(0, 1));
        model.put("bias", Tensor.of(Storage.copyOf(bytes(77)), DType.BFLOAT16, 3, Shape.of(5), 2));
        model.attributes().put("_metadata", Map.of("version", 2L));
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("model", model);
        state.put("zeros", Tensor.zeros(DType.FLOAT64, 0, 4));
        state.put("step", 3L);
        state.put("config", List.of("gpt2", 0.5, Tuple.of(1L, "a", true)));
        return state;
    }

    private static byte[] bytes(int count) {
        byte[] made = new byte[count];
        for (int i = 0; i < count; i++) {
            made[i] = (byte) (i * 37 + 11);
        }
        return made;
    }
}
