package io.undercroft.serializer.internal.planning;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.SaveReport.Loss;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.internal.graph.ObjectEncoder;
import io.undercroft.serializer.spi.Unreadable;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.Tensor;
import java.util.List;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// The tree of a state to be saved, in which every tensor can be read.
///
/// @param tree the tree, which shares no container with the state
/// @param names its names
/// @param leftOut what the state has and the tree has not: at most one entry, of the tensors that cannot be read
public record ReadableState(@Nullable Object tree, StateIndex names, List<Loss> leftOut) {
    /// Encodes a state.
    ///
    /// @param state the root of the tree
    /// @param classes the classes whose objects may be in it
    /// @param options whether tensors that cannot be read are left out
    /// @return the tree
    /// @throws FormatException if the state has a tensor that cannot be read, and it is not to be left out
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path
    public static ReadableState of(@Nullable Object state, StateClasses classes, SaveOptions options) {
        Object tree = ObjectEncoder.of(state, classes);
        StateIndex names = StateIndex.of(tree);
        SequencedMap<String, FormatException> unreadable = Unreadable.in(names.tensors());
        if (unreadable.isEmpty()) {
            return new ReadableState(tree, names, List.of());
        }
        if (!options.isLeavingOutUnreadable()) {
            throw refused(unreadable,
                    Remedy.naming("Save the other tensors with {}", "SaveOptions.leavingOutUnreadable"));
        }
        Object rest = ObjectEncoder.copyOf(tree, ReadableState::readable);
        if (rest == null) {
            throw refused(unreadable, Remedy.of("The state has nothing else"));
        }
        StateIndex restNames = StateIndex.of(rest);
        SequencedMap<String, FormatException> still = Unreadable.in(restNames.tensors());
        if (!still.isEmpty()) {
            // It is a key of a map.
            throw refused(still, Remedy.of("Use another key"));
        }
        return new ReadableState(rest, restNames, List.of(new Loss(Kind.UNREADABLE, unreadable.size(),
                List.copyOf(unreadable.sequencedKeySet()),
                unreadable.values().stream().map(why -> why.what() + " [" + why.code() + "]").toList())));
    }

    /// {@return the locations of its storages: of the files that it was opened from}
    public Set<String> sources() {
        return names.storages().stream().flatMap(storage -> storage.location().stream()).collect(Collectors.toSet());
    }

    private static @Nullable Object readable(Object leaf) {
        return leaf instanceof Tensor tensor && Unreadable.why(tensor).isPresent() ? null : leaf;
    }

    private static FormatException refused(SequencedMap<String, FormatException> unreadable, Remedy remedy) {
        FormatException why = unreadable.firstEntry().getValue();
        return new FormatException(why.code(), "the tensor " + FormatException.quote(unreadable.firstEntry().getKey())
                + " cannot be saved: " + why.what(), why.offset(), remedy);
    }
}
