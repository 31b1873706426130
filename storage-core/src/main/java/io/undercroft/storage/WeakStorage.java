package io.undercroft.storage;

import java.lang.ref.WeakReference;
import java.util.Optional;

/// A weak reference to a storage, which prevents neither garbage collection nor freeing. The
/// counterpart of PyTorch's `StorageWeakRef`, for caches that find a storage again while it lives.
///
/// Safe for any thread.
public final class WeakStorage {
    private final long id;
    private final WeakReference<Storage> reference;

    WeakStorage(Storage storage) {
        this.id = storage.id();
        this.reference = new WeakReference<>(storage);
    }

    /// {@return the number of the storage, also after the storage was collected}
    public long id() {
        return id;
    }

    /// {@return whether the storage was freed or collected}
    public boolean isExpired() {
        Storage storage = reference.get();
        return storage == null || storage.referenceCount() == 0;
    }

    /// Takes a reference to the storage if it is not freed. Atomic, so that it cannot be freed in between.
    ///
    /// @return the storage, which the caller has to [Storage#release]; nothing if it was freed or collected
    public Optional<Storage> retain() {
        return Optional.ofNullable(reference.get()).filter(Storage::tryRetain);
    }

    @Override
    public String toString() {
        return "weak reference to storage #" + id + (isExpired() ? " (expired)" : "");
    }
}
