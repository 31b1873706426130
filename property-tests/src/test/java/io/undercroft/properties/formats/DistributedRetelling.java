package io.undercroft.properties.formats;

import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StatePart;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// What comes out of a distributed checkpoint of PyTorch for a state: maps, and lists with tensors or maps in them, are
/// taken apart, at each of their places, and united again. Keys are text then, and a tensor has nothing but its
/// elements.
final class DistributedRetelling {
    private final List<Part> parts = new ArrayList<>();
    private final Object told;

    private DistributedRetelling(Object state) {
        this.told = retold(new Part("", "", state));
    }

    /// What is not taken apart.
    ///
    /// @param path its path in the state
    /// @param pathInFile its path in what is read
    record Part(String path, String pathInFile, Object value) {
        private Part in(Object key, Object keyInFile, Object held) {
            return new Part(StatePart.join(path, StateIndex.segment(key)),
                    StatePart.join(pathInFile, StateIndex.segment(keyInFile)), held);
        }

        /// {@return the names in the state of the tensors in it}
        Map<String, Tensor> tensors() {
            return StateIndex.of(new StatePart(path, value)).tensors();
        }

        /// {@return the names of the same tensors in what is read}
        Map<String, Tensor> tensorsInFile() {
            return StateIndex.of(new StatePart(pathInFile, value)).tensors();
        }
    }

    /// @param state a state that can be saved so
    static DistributedRetelling of(Object state) {
        return new DistributedRetelling(state);
    }

    /// {@return the state that is read where this one was written}
    Object told() {
        return told;
    }

    List<Part> parts() {
        return parts;
    }

    /// {@return whether each tensor has names of its own at all places} An empty key can make two names equal.
    boolean hasDistinctNames() {
        List<String> names = parts.stream().flatMap(part -> part.tensors().keySet().stream()).toList();
        return names.stream().distinct().count() == names.size();
    }

    /// {@return whether a tensor on meta is in another value, of which PyTorch keeps the shape and no storage}
    boolean hasMetaInValues() {
        return parts.stream().filter(part -> tensorIn(part.value) == null).map(Part::tensors)
                .anyMatch(tensors -> tensors.values().stream().anyMatch(tensor -> tensor.device().isMeta()));
    }

    private Object retold(Part part) {
        if (part.value instanceof Map<?, ?> map && isDict(map)) {
            Map<Object, Object> made = new LinkedHashMap<>();
            map.forEach((key, item) -> {
                String text = key instanceof Boolean truth ? truth ? "True" : "False" : key.toString();
                made.put(text, kept(part.in(key, text, item)));
            });
            return made;
        }
        if (part.value instanceof List<?> list && isDivided(list, 0)) {
            List<Object> made = new ArrayList<>();
            list.forEach(item -> made.add(kept(part.in(made.size(), made.size(), item))));
            return made;
        }
        parts.add(part);
        Tensor tensor = tensorIn(part.value);
        if (tensor == null) {
            return part.value;
        }
        // One on meta is saved if it has no elements.
        return tensor.device().isMeta()
                ? Tensor.zeros(tensor.dtype(), tensor.shape())
                : Tensor.of(Storage.copyOf(tensor.cpu().contiguous().bytes()), tensor.dtype(), 0, tensor.shape());
    }

    /// An empty map in another stays what it is.
    private Object kept(Part part) {
        if (part.value instanceof Map<?, ?> map && map.isEmpty()) {
            parts.add(part);
            return map;
        }
        return retold(part);
    }

    private static Tensor tensorIn(Object value) {
        return value instanceof Tensor tensor
                ? tensor
                : value instanceof Typed typed && typed.type().startsWith("torch.nn.parameter.")
                        ? tensorIn(typed.value())
                        : null;
    }

    private static boolean isDict(Map<?, ?> map) {
        return !(map instanceof TypedMap typed)
                || Set.of("collections.OrderedDict", "collections.defaultdict", "gguf").contains(typed.type());
    }

    /// A list that holds itself is refused if there is a tensor or a map in it.
    private static boolean isDivided(List<?> list, int depth) {
        return !(list instanceof Tuple) && depth < 20 && list.stream().anyMatch(each -> tensorIn(each) != null
                || (each instanceof Map<?, ?> map && isDict(map))
                || (each instanceof List<?> inner && isDivided(inner, depth + 1)));
    }
}
