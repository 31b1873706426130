package io.undercroft.serializer.internal.planning;

import io.undercroft.serializer.internal.graph.ObjectEncoder;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;

/// Copies a tree with all of its storages, so that a format can write it while the caller changes the state: the
/// counterpart of [StateCopy] for formats that write trees. Tensors that share a storage share its copy.
///
/// Whole storages are copied, since a format may write bytes that no tensor reaches; those on devices stay there.
public final class TreeCopy {
    private final Map<Storage, Storage> storages = new HashMap<>();
    private final IdentityHashMap<Tensor, Tensor> tensors = new IdentityHashMap<>();

    private TreeCopy() {}

    /// {@return a copy of a state}
    ///
    /// @param state the state, whose storages must not be written to meanwhile
    /// @param staging the memory for copies of those of the host
    /// @param resources receives what is to be closed once the copy was read, also if this fails
    /// @throws IOException if there is no memory for the copies
    public static ReadableState of(ReadableState state, Staging staging, ResourceStack resources)
            throws IOException {
        Collection<Storage> storages = state.names().storages();
        TreeCopy copy = new TreeCopy();
        long nbytes = storages.stream().filter(TreeCopy::isOnHost).mapToLong(TreeCopy::space).reduce(0, Math::addExact);
        MemorySegment memory = nbytes == 0
                ? MemorySegment.NULL
                : resources.add(staging.lend(nbytes)).segment();
        long position = 0;
        for (Storage storage : storages) {
            if (isOnHost(storage)) {
                Storage to = Storage.wrap(memory.asSlice(position, storage.nbytes()));
                copy.storages.put(storage, to.copyFrom(storage));
                position += space(storage);
            } else if (!storage.isMeta()) {
                Storage to = storage.copy();
                resources.add(to::release);
                copy.storages.put(storage, to);
            }
        }
        Object tree = ObjectEncoder.copyOf(state.tree(), copy::copied);
        return new ReadableState(tree, StateIndex.of(tree), state.leftOut());
    }

    private static boolean isOnHost(Storage storage) {
        return storage.device().isCpu();
    }

    private static long space(Storage storage) {
        return (storage.nbytes() + Storage.ALIGNMENT - 1) & -Storage.ALIGNMENT;
    }

    private Object copied(Object leaf) {
        return switch (leaf) {
            case Tensor tensor -> tensors.computeIfAbsent(tensor, this::copied);
            case TypedStorage typed -> new TypedStorage(copied(typed.untyped()), typed.dtype());
            case Storage storage -> copied(storage);
            case byte[] bytes -> bytes.clone();
            default -> leaf;
        };
    }

    private Tensor copied(Tensor tensor) {
        Storage to = copied(tensor.storage());
        return Tensor.of(to, tensor.dtype(), tensor.storageOffset(), tensor.shape(), tensor.stride())
                .withFlags(tensor.flags());
    }

    /// One on the meta device has no bytes.
    private Storage copied(Storage storage) {
        return storages.getOrDefault(storage, storage);
    }
}
