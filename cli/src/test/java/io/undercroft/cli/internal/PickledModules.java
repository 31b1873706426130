package io.undercroft.cli.internal;

import io.undercroft.serializer.state.TypedMap;
import java.util.Map;

/// Modules of PyTorch as files of `torch.save(net)` have them.
public final class PickledModules {
    private PickledModules() {}

    /// {@return a module without buffers}
    public static TypedMap module(Map<String, ?> parameters, Map<String, ?> modules) {
        TypedMap module = new TypedMap("python:app.Net");
        module.put("training", true);
        module.put("_parameters", parameters);
        module.put("_buffers", Map.of());
        module.put("_modules", modules);
        return module;
    }
}
