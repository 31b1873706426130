package io.undercroft.serializer.internal.planning;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.state.Slice;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Chooses which of the writers that have a slice stores it: one that follows from a name (section 9.3 of `SPEC.md`).
/// Tensors on one storage have one name for this purpose, so that they stay together.
final class Replicas {
    private Replicas() {}

    /// Replaces the tensors of slices that other writers store by meta tensors.
    ///
    /// @param state a state that shares no container with that of the caller; it is changed
    /// @return the state with the other tensors
    /// @throws IllegalArgumentException if a node of a slice is malformed, or one tensor is two slices
    static ReadableState leaveToOthers(ReadableState state) {
        Map<Typed, Slice> slices = slices(state);
        if (slices.isEmpty()) {
            return state;
        }
        Map<Storage, String> names = new HashMap<>();
        state.names().tensors().forEach((name, tensor) -> names.putIfAbsent(tensor.storage(), name));
        Map<Tensor, Tensor> descriptions = new HashMap<>();
        boolean isChanged = false;
        for (Map.Entry<Typed, Slice> each : slices.entrySet()) {
            Slice slice = each.getValue();
            Tensor local = slice.local();
            if (slice.replicas() > 1 && !local.device().isMeta()
                    && slice.replica() != storing(String.valueOf(names.get(local.storage())), slice.replicas())) {
                each.getKey().value(descriptions.computeIfAbsent(local,
                        _ -> Tensor.meta(local.dtype(), local.shape().toArray())));
                isChanged = true;
            }
        }
        return isChanged
                ? new ReadableState(state.tree(), StateIndex.of(state.tree()), state.leftOut())
                : state;
    }

    /// {@return the number of the replica that is stored}
    ///
    /// @param name the name that decides
    /// @param replicas how many there are
    static int storing(String name, int replicas) {
        long hash = Digest128.of(MemorySegment.ofArray(name.getBytes(StandardCharsets.UTF_8))).low();
        return (int) Long.remainderUnsigned(hash, replicas);
    }

    private static Map<Typed, Slice> slices(ReadableState state) {
        Map<Typed, Slice> slices = new LinkedHashMap<>();
        Map<Tensor, Slice> known = new HashMap<>();
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> left = new ArrayDeque<>();
        if (state.tree() != null) {
            left.add(state.tree());
        }
        while (!left.isEmpty()) {
            Object node = left.remove();
            if (node instanceof Typed typed && seen.add(typed)) {
                try {
                    Slice.of(typed).ifPresent(slice -> {
                        slices.put(typed, slice);
                        requireOne(known.putIfAbsent(slice.local(), slice), slice);
                    });
                } catch (IllegalArgumentException e) {
                    throw new IllegalArgumentException("cannot save "
                            + FormatException.quote(String.valueOf(state.names().pathOf(typed))) + ": "
                            + e.getMessage(), e);
                }
            } else if (!isContainer(node) || !seen.add(node)) {
                continue;
            }
            StateIndex.children(node).stream().filter(Replicas::isContainer).forEach(left::add);
        }
        return slices;
    }

    private static void requireOne(@Nullable Slice before, Slice slice) {
        if (before != null && !before.isSameBox(slice)) {
            throw new IllegalArgumentException("one tensor is two slices, " + before + " and " + slice
                    + "; make another tensor on the same storage, for instance by view");
        }
    }

    private static boolean isContainer(@Nullable Object value) {
        return value instanceof Map || value instanceof Collection || value instanceof Typed;
    }
}
