package io.undercroft.storage;

import java.lang.ref.WeakReference;
import java.util.Optional;

/// A weak reference to a storage, which prevents neither garbage collection nor freeing, for instance for caches. The
/// counterpart of PyTorch's `StorageWeakRef`.
///
/// Instances are thread-safe.
public final class WeakStorage {
    private final long id;
    private final WeakReference<Storage> reference;

    WeakStorage(Storage storage) {
        this.id = storage.id();
        this.reference = new WeakReference<>(storage);
    }

    /// {@return the [id][Storage#id] of the storage, also after the storage was collected}
    public long id() {
        return id;
    }

    /// {@return whether the storage was freed or collected}
    public boolean isExpired() {
        Storage storage = reference.get();
        return storage == null || storage.referenceCount() == 0;
    }

    /// Adds a reference to the storage unless it was freed or collected. Atomic.
    ///
    /// @return the storage, which the caller must [release][Storage#release]; empty if it was freed or collected
    public Optional<Storage> retain() {
        return Optional.ofNullable(reference.get()).filter(Storage::tryRetain);
    }

    @Override
    public String toString() {
        return "weak reference to storage #" + id + (isExpired() ? " (expired)" : "");
    }
}
