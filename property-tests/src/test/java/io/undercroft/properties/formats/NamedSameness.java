package io.undercroft.properties.formats;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Sameness;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// Whether a file of tensors by name holds those of a state.
final class NamedSameness {
    private NamedSameness() {}

    /// {@return the tensors of a state by the names that a file of tensors by name has: the keys on the way, joined by
    /// slashes}
    static Map<String, Tensor> named(Map<?, ?> state) {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        walk("", state, tensors);
        return tensors;
    }

    private static void walk(String path, Map<?, ?> map, Map<String, Tensor> tensors) {
        map.forEach((key, value) -> {
            String name = path + String.valueOf(key);
            if (value instanceof Map<?, ?> inner) {
                walk(name.isEmpty() ? "" : name + "/", inner, tensors);
            } else {
                tensors.put(name, (Tensor) value);
            }
        });
    }

    /// Fails if names, dtypes, shapes or elements differ.
    static void checkElements(Map<String, Tensor> expected, Map<?, ?> actual) {
        assertThat(actual.keySet().stream().map(String.class::cast)).containsExactlyInAnyOrderElementsOf(
                expected.keySet());
        expected.forEach((name, tensor) -> checkElements(name, tensor, actual.get(name)));
    }

    /// Fails if dtypes, shapes or elements differ. Negation and conjugation are done by whoever writes.
    static void checkElements(String name, Tensor tensor, Object actual) {
        assertThat(actual).as(name).isInstanceOf(Tensor.class);
        Tensor there = (Tensor) actual;
        assertThat(there.dtype()).as(name).isEqualTo(tensor.dtype());
        assertThat(there.shape()).as(name).isEqualTo(tensor.shape());
        assertThat(there.contentEquals(tensor)).as("the elements of %s", name).isTrue();
    }

    /// Fails if two tensors share a storage.
    static void checkNothingIsShared(Map<?, ?> actual) {
        Set<Storage> storages = Collections.newSetFromMap(new IdentityHashMap<>());
        actual.forEach((name, tensor) -> assertThat(storages.add(((Tensor) tensor).storage()))
                .as("%s has a storage of its own", name).isTrue());
    }

    /// Fails if tensors with bytes in common do not have the same bytes in common again, or others do.
    static void checkSharing(Map<String, Tensor> expected, Map<?, ?> actual) {
        Map<String, Integer> groups = groups(expected);
        expected.forEach((first, tensor) -> expected.forEach((second, other) -> {
            Tensor a = (Tensor) actual.get(first);
            Tensor b = (Tensor) actual.get(second);
            boolean share = groups.get(first).equals(groups.get(second));
            assertThat(a.storage() == b.storage()).as("%s and %s share a storage", first, second).isEqualTo(share);
            if (share) {
                assertThat(start(b) - start(a)).as("bytes from the start of %s to that of %s", first, second)
                        .isEqualTo(start(other) - start(tensor));
            }
            if (share && !isSameWindow(tensor, other)) {
                checkStrides(first, tensor, a);
            }
        }));
    }

    private static void checkStrides(String name, Tensor expected, Tensor actual) {
        for (int dim = 0; dim < expected.dim(); dim++) {
            if (expected.size(dim) > 1) {
                assertThat(actual.stride(dim)).as("stride %s of %s", dim, name).isEqualTo(expected.stride(dim));
            }
        }
    }

    private static long start(Tensor tensor) {
        return tensor.storageOffset() * tensor.dtype().bits() / Byte.SIZE;
    }

    /// Numbers of groups: tensors that overlap, and those that overlap one of these, have the same.
    private static Map<String, Integer> groups(Map<String, Tensor> tensors) {
        List<String> names = new ArrayList<>(tensors.keySet());
        Map<String, Integer> groups = new LinkedHashMap<>();
        names.forEach(name -> groups.put(name, groups.size()));
        for (String first : names) {
            for (String second : names) {
                if (overlap(tensors.get(first), tensors.get(second))) {
                    int kept = groups.get(first);
                    int joined = groups.get(second);
                    groups.replaceAll((_, group) -> group == joined ? kept : group);
                }
            }
        }
        return groups;
    }

    /// Whether one begins before the other ends; those without elements only if they are one window.
    private static boolean overlap(Tensor a, Tensor b) {
        if (a.storage() != b.storage()) {
            return false;
        }
        if (a.numel() == 0 || b.numel() == 0) {
            return isSameWindow(a, b);
        }
        return start(a) < end(b) && start(b) < end(a);
    }

    private static boolean isSameWindow(Tensor a, Tensor b) {
        return a.storage() == b.storage() && a.dtype().equals(b.dtype()) && a.shape().equals(b.shape())
                && a.storageOffset() == b.storageOffset() && Arrays.equals(a.stride(), b.stride())
                && flags(a).equals(flags(b));
    }

    /// Whether a tensor takes part in differentiation, no such file says.
    private static Set<Tensor.Flag> flags(Tensor tensor) {
        Set<Tensor.Flag> flags = new HashSet<>(tensor.flags());
        flags.remove(Tensor.Flag.REQUIRES_GRAD);
        return flags;
    }

    private static long end(Tensor tensor) {
        long last = tensor.storageOffset();
        for (int dim = 0; dim < tensor.dim(); dim++) {
            last += (tensor.size(dim) - 1) * tensor.stride(dim);
        }
        return tensor.dtype().nbytes(last + 1);
    }

    /// Fails if the metadata of GGUF differs.
    static void checkAttributes(Map<?, ?> expected, Map<?, ?> actual, Map<String, String> text) {
        Map<String, Object> attributes = new LinkedHashMap<>();
        if (expected instanceof TypedMap typed && typed.type().equals("gguf")) {
            attributes.putAll(typed.attributes());
        }
        text.forEach(attributes::putIfAbsent);
        Sameness.check(attributes, ((TypedMap) actual).attributes());
    }
}
