package io.undercroft.storage;

import java.util.IdentityHashMap;
import java.util.function.UnaryOperator;

/// Copies tensors and storages and keeps the sharing of storages: tensors that share a storage share its copy. Each
/// storage is copied once and as a whole. (PyTorch's `deepcopy` keeps the sharing of tensors that are copied together;
/// its `to(device)` copies each tensor and does not.)
///
/// All tensors that may share storages must be copied by one instance. It keeps the storages that it copied reachable
/// until it is collected itself. Instances are not thread-safe.
public final class StorageCopier {
    private final UnaryOperator<Storage> copying;
    private final IdentityHashMap<Storage, Storage> copies = new IdentityHashMap<>();

    private StorageCopier(UnaryOperator<Storage> copying) {
        this.copying = copying;
    }

    /// {@return a copier to a device; storages that are on the device already are not copied}
    ///
    /// @param device the device of the copies
    public static StorageCopier to(Device device) {
        return new StorageCopier(storage -> storage.to(device));
    }

    /// {@return a copier to memory of an allocator}
    ///
    /// @param allocator the allocator of the copies
    public static StorageCopier into(Allocator allocator) {
        return new StorageCopier(storage -> storage.copyTo(allocator));
    }

    /// {@return the copy of a storage, which is the same object for each call} The copy of a slice is a slice of the
    /// copy of its base.
    ///
    /// @param storage the storage to copy
    /// @throws IllegalStateException if the storage was freed, has no bytes (meta) or is a slice of a storage that
    ///     became too small, or there is no such device
    public Storage copy(Storage storage) {
        Storage known = copies.get(storage);
        if (known != null) {
            return known;
        }
        Storage made = storage.base().map(base -> sliceOf(copy(base), base, storage))
                .orElseGet(() -> copying.apply(storage));
        copies.put(storage, made);
        return made;
    }

    /// {@return a tensor of the same geometry, flags and gradient on the copy of its storage; the gradient is copied
    /// likewise}
    ///
    /// @param tensor the tensor to copy
    /// @throws IllegalStateException as [#copy(Storage)], or if the storage became too small for the tensor
    public Tensor copy(Tensor tensor) {
        tensor.checkHolds(tensor.storage().nbytes());
        Storage target = copy(tensor.storage());
        Tensor copy = target == tensor.storage() ? tensor : tensor.withStorage(target);
        Tensor grad = tensor.grad().orElse(null);
        Tensor gradCopy = grad == null ? null : copy(grad);
        return gradCopy == null || (copy == tensor && gradCopy == grad) ? copy : copy.withGrad(gradCopy);
    }

    /// {@return a typed storage on the copy of its bytes}
    ///
    /// @param storage the storage to copy
    /// @throws IllegalStateException as [#copy(Storage)]
    public TypedStorage copy(TypedStorage storage) {
        return new TypedStorage(copy(storage.untyped()), storage.dtype());
    }

    private static Storage sliceOf(Storage copyOfBase, Storage base, Storage slice) {
        if (slice.sliceOffset() > base.nbytes() - slice.nbytes()) {
            throw new IllegalStateException(
                    slice.describe() + " reaches beyond " + base.describe() + ", which was resized");
        }
        return copyOfBase == base ? slice : copyOfBase.slice(slice.sliceOffset(), slice.nbytes());
    }
}
