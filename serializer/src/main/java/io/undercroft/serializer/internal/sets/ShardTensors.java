package io.undercroft.serializer.internal.sets;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Rule;
import io.undercroft.serializer.SaveOptions.Run;
import io.undercroft.serializer.internal.CroftContents;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.serializer.state.Slice;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.Tensor;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// The tensors of a shard, as slices of those of the set.
///
/// @param run the run that the shard is of, if it is of one
/// @param pieces the tensors by their names
record ShardTensors(Optional<Run> run, SequencedMap<String, Piece> pieces) {
    /// A tensor of a shard.
    ///
    /// @param slice the part of the tensor of the set, or a tensor that is not sliced as the whole of it
    /// @param isSlice whether it is a slice
    record Piece(Slice slice, boolean isSlice) {
        /// {@return whether the shard has the elements}
        boolean isStored() {
            return !slice.local().device().isMeta();
        }

        Box box() {
            return new Box(slice.offset(), slice.local().shape().toArray());
        }
    }

    /// Reads the descriptions of all tensors.
    ///
    /// @param contents the shard, opened so that storages stay on the devices that they were saved from
    /// @throws FormatException if a slice is malformed, or a tensor cannot be read
    static ShardTensors of(CroftContents contents) {
        try {
            SequencedMap<String, Piece> pieces = pieces(contents.state());
            pieces.values().forEach(piece -> Unreadable.why(piece.slice.local()).ifPresent(why -> {
                throw why;
            }));
            return new ShardTensors(contents.run(), pieces);
        } catch (IllegalArgumentException e) {
            throw Rule.V22_SLICE.broken("the state is malformed: " + e.getMessage(), FormatException.NO_OFFSET);
        }
    }

    /// {@return the tensors of a tree by their names, in its order}
    ///
    /// @param tree a state, in which slices are nodes
    /// @throws IllegalArgumentException if a slice is malformed, or one tensor is two slices
    static SequencedMap<String, Piece> pieces(@Nullable Object tree) {
        Map<Tensor, Slice> slices = slices(tree);
        SequencedMap<String, Piece> pieces = new LinkedHashMap<>();
        StateIndex.of(tree).tensors().forEach((name, tensor) -> {
            Slice slice = slices.get(tensor);
            pieces.put(name, new Piece(slice == null ? Slice.whole(tensor) : slice, slice != null));
        });
        return pieces;
    }

    private static Map<Tensor, Slice> slices(@Nullable Object tree) {
        Map<Tensor, Slice> slices = new HashMap<>();
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> left = new ArrayDeque<>();
        if (tree != null) {
            left.add(tree);
        }
        while (!left.isEmpty()) {
            Object node = left.remove();
            if (seen.add(node)) {
                Slice.of(node).ifPresent(slice -> put(slices, slice));
                for (Object child : StateIndex.children(node)) {
                    if (child instanceof Map || child instanceof Collection || child instanceof Typed) {
                        left.add(child);
                    }
                }
            }
        }
        return slices;
    }

    private static void put(Map<Tensor, Slice> slices, Slice slice) {
        Slice before = slices.putIfAbsent(slice.local(), slice);
        if (before != null && !before.isSameBox(slice)) {
            throw new IllegalArgumentException("one tensor is two slices, " + before + " and " + slice);
        }
    }
}
