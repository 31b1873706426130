package io.undercroft.serializer.internal.planning;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.format.internal.Span;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.SaveReport.Loss;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.internal.graph.ObjectEncoder;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
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
    /// @throws IllegalStateException if it holds a tensor whose storage was freed; the message has its name
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path
    public static ReadableState of(@Nullable Object state, StateClasses classes, SaveOptions options) {
        Object tree = ObjectEncoder.of(state, classes);
        StateIndex names = StateIndex.of(tree);
        SequencedMap<String, FormatException> unreadable = Unreadable.in(names.tensors());
        if (unreadable.isEmpty()) {
            return new ReadableState(tree, names, List.of()).checked().as(options);
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
                unreadable.values().stream().map(why -> why.what() + " [" + why.code() + "]").toList()))).checked()
                .as(options);
    }

    private ReadableState checked() {
        names.storages().forEach(storage -> checkBytes(storage, false));
        return this;
    }

    private ReadableState as(SaveOptions options) {
        if (options.dtype().isEmpty()) {
            return this;
        }
        Object converted = Converted.of(tree, names, options.dtype().get());
        return new ReadableState(converted, StateIndex.of(converted), leftOut);
    }

    /// Refuses a storage that has no bytes any more, and names its path in the state.
    ///
    /// @param storage a storage of the state
    /// @param isMade whether bytes that were not needed yet are made now, and so found to be unreadable
    void checkBytes(Storage storage, boolean isMade) {
        boolean isDeferred = !storage.isMaterialized() && storage.referenceCount() > 0;
        if (storage.isMeta() || storage.isDecodedOnDemand() || (isDeferred && !isMade)) {
            return;
        }
        try {
            if (storage.materialize().device().isCpu() && !storage.segment().scope().isAlive()) {
                throw new IllegalStateException("what has them is closed; close it later");
            }
        } catch (IllegalStateException e) {
            throw new IllegalStateException(holder(storage, names) + " cannot be saved, as its bytes cannot be read: "
                    + e.getMessage() + "; save it while what it was opened from is open", e);
        }
    }

    /// {@return the first tensor on a storage, for messages}
    static String holder(Storage storage, StateIndex names) {
        for (Map.Entry<String, Tensor> entry : names.tensors().entrySet()) {
            if (entry.getValue().storage().equals(storage)) {
                return "the tensor " + FormatException.quote(entry.getKey());
            }
        }
        return "a storage of the state";
    }

    /// {@return the locations of its storages: of the files that it was opened from}
    public Set<String> sources() {
        Set<String> locations = new HashSet<>();
        names.storages().forEach(storage -> storage.location().ifPresent(locations::add));
        return locations;
    }

    /// {@return a copy of the state, so that another thread can save it while the caller changes the state} Tensors
    /// that share a storage share its copy. Whole storages are copied, since a format may write bytes that no tensor
    /// reaches; those on devices stay there.
    ///
    /// @param staging the memory for copies
    /// @param resources receives what is to be closed when the copy was read, also if this fails
    /// @throws IOException if there is no memory for the copies
    public ReadableState staged(Staging staging, ResourceStack resources) throws IOException {
        Map<Storage, Storage> copies = new HashMap<>();
        List<Storage> onHost = new ArrayList<>();
        for (Storage storage : names.storages()) {
            if (storage.device().isCpu() && storage.nbytes() > 0) {
                onHost.add(storage);
            } else if (!storage.isMeta()) {
                Storage copy = storage.copy();
                resources.add(copy::release);
                copies.put(storage, copy);
            }
        }
        List<PlannedStorage> taken = StateCopy.of(onHost.stream().map(storage -> PlannedStorage.of(0, storage,
                List.of(new Span(0, storage.nbytes())), List.of())).toList(), 1, staging, new SaveControl(), resources);
        for (int number = 0; number < taken.size(); number++) {
            PlannedStorage copy = taken.get(number);
            copies.put(onHost.get(number), Storage.wrap(copy.slice(0, copy.nbytes(), MemorySegment.NULL)));
        }
        IdentityHashMap<Tensor, Tensor> tensors = new IdentityHashMap<>();
        Object copy = ObjectEncoder.copyOf(tree, leaf -> copied(leaf, copies, tensors));
        return new ReadableState(copy, StateIndex.of(copy), leftOut);
    }

    /// Storages on the meta device have no bytes.
    private static Object copied(Object leaf, Map<Storage, Storage> storages,
            IdentityHashMap<Tensor, Tensor> tensors) {
        return switch (leaf) {
            case Tensor tensor -> tensors.computeIfAbsent(tensor, _ -> Tensor.of(
                    storages.getOrDefault(tensor.storage(), tensor.storage()), tensor.dtype(), tensor.storageOffset(),
                    tensor.shape(), tensor.stride()).withFlags(tensor.flags()));
            case TypedStorage typed -> new TypedStorage(storages.getOrDefault(typed.untyped(), typed.untyped()),
                    typed.dtype());
            case Storage storage -> storages.getOrDefault(storage, storage);
            case byte[] bytes -> bytes.clone();
            default -> leaf;
        };
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
