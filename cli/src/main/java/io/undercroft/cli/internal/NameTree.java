package io.undercroft.cli.internal;

import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.storage.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// A state of which only the names of its tensors are known: maps within maps, such that the tensors have these names
/// again.
public final class NameTree {
    private final Map<String, Object> root = new LinkedHashMap<>();

    /// {@return the maps; more are added by [#put]}
    public Map<String, Object> root() {
        return root;
    }

    /// Adds a tensor. If its path leads through another tensor, its whole name is the key.
    ///
    /// @param name keys, escaped and joined by `/`, as [StateIndex] makes it; after those that sort before it
    /// @param tensor the tensor
    public void put(String name, Tensor tensor) {
        String[] keys = name.split("/", -1);
        Map<String, Object> map = keys.length < StateIndex.MAX_DEPTH ? descend(keys) : null;
        if (map == null) {
            root.put(name, tensor);
        } else {
            map.put(StateIndex.rawName(keys[keys.length - 1]), tensor);
        }
    }

    /// Returns the map in which the last key is.
    @SuppressWarnings("unchecked")
    private @Nullable Map<String, Object> descend(String[] keys) {
        Map<String, Object> map = root;
        for (int i = 0; i < keys.length - 1; i++) {
            Object next = map.computeIfAbsent(StateIndex.rawName(keys[i]), _ -> new LinkedHashMap<String, Object>());
            if (!(next instanceof Map<?, ?>)) {
                return null;
            }
            map = (Map<String, Object>) next;
        }
        return map;
    }
}
