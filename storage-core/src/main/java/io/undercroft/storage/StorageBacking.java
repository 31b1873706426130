package io.undercroft.storage;

import io.undercroft.storage.internal.support.Operation.Timing;
import io.undercroft.storage.internal.support.Operation;
import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// The memory that a storage must release: an allocation, the source of one, or the storage that it is a slice of.
///
/// It is separate from [Storage] because it outlives it: when a storage is unreachable, the cleaner frees what it held.
/// So nothing here may reference the storage itself.
///
/// The count is free of locks. Everything else changes under the monitor of this object, which is also how a storage
/// makes sure that its bytes are not remembered after they were released.
final class StorageBacking implements Runnable {
    private static final Cleaner CLEANER = Cleaner.create();

    private final AtomicInteger references = new AtomicInteger(1);
    private final @Nullable Storage base;
    private @Nullable Supplier<Allocation> source;
    /// The number of times that the source may still make bytes for one borrower only.
    private int separateLeft;
    private boolean isDecoded;
    private volatile @Nullable Allocation allocation;
    private Cleaner.@Nullable Cleanable cleanable;

    private StorageBacking(@Nullable Allocation allocation, @Nullable Supplier<Allocation> source,
            @Nullable Storage base) {
        this.allocation = allocation;
        this.source = source;
        this.base = base;
    }

    /// Holds bytes that are there.
    static StorageBacking of(Allocation allocation) {
        return new StorageBacking(allocation, null, null);
    }

    /// Holds bytes that are made at the first need.
    static StorageBacking deferred(Supplier<Allocation> source) {
        return new StorageBacking(null, source, null);
    }

    /// Holds bytes that are made at the first need, and separately for each of the first borrowers.
    static StorageBacking decoded(Supplier<Allocation> source, int separate) {
        StorageBacking backing = deferred(source);
        backing.separateLeft = separate;
        backing.isDecoded = true;
        return backing;
    }

    /// {@return whether borrowing would allocate bytes}
    synchronized boolean isDecodedOnDemand() {
        return allocation == null && source != null && separateLeft > 0;
    }

    /// {@return the source of bytes for one borrower; null if the bytes exist, or are to be made and kept}
    synchronized @Nullable Supplier<Allocation> borrow() {
        if (!isDecodedOnDemand()) {
            return null;
        }
        separateLeft--;
        return source;
    }

    /// {@return what makes the bytes, if they are not there yet}
    synchronized @Nullable Supplier<Allocation> source() {
        return source;
    }

    /// Holds a reference to the storage that a slice is a part of.
    static StorageBacking slice(Storage base) {
        return new StorageBacking(null, null, base.retain());
    }

    /// Holds nothing.
    static StorageBacking nothing() {
        return new StorageBacking(null, null, null);
    }

    @Nullable
    Storage base() {
        return base;
    }

    /// {@return the allocation if it is there}
    @Nullable
    Allocation allocation() {
        return allocation;
    }

    int references() {
        return references.get();
    }

    /// Adds a reference unless there is none left. {@return whether it could}
    boolean retain() {
        int count = references.get();
        while (count > 0 && !references.compareAndSet(count, count + 1)) {
            count = references.get();
        }
        return count > 0;
    }

    /// Takes a reference away if there is one. {@return how many there were before}
    int release() {
        int count = references.get();
        while (count > 0 && !references.compareAndSet(count, count - 1)) {
            count = references.get();
        }
        return count;
    }

    /// Makes the allocation if it is not there. Called under the monitor, of a storage that is not freed.
    ///
    /// @param owner on whose collection the cleaner frees the bytes
    /// @return the allocation; null if there is no source to make it from
    @Nullable
    Allocation materialize(Storage owner) {
        Allocation existing = allocation;
        if (existing != null || source == null) {
            return existing;
        }
        Timing timing = (isDecoded ? Operation.DECODE : Operation.MAP).begin();
        Allocation made = source.get().checkSize(owner.nbytes());
        allocation = made;
        source = null;
        cleanAfter(owner);
        timing.end(owner.owner().orElse(null), owner.nbytes());
        return made;
    }

    /// Puts another allocation in place and frees the old one. Called under the monitor.
    void replace(Storage owner, Allocation other) {
        Allocation old = allocation;
        allocation = other;
        cleanAfter(owner);
        if (old != null) {
            old.free();
        }
    }

    /// Puts an allocation of the same bytes in place, which frees the old one. Called under the monitor.
    void wrap(Storage owner, Allocation same) {
        allocation = same;
        cleanAfter(owner);
    }

    /// Registers the release of what is held for the time when the owner is unreachable. Memory that the garbage
    /// collector owns needs no cleaner.
    void cleanAfter(Storage owner) {
        Allocation held = allocation;
        boolean needed = base != null || (held != null && !held.isCollected());
        if (needed && cleanable == null) {
            cleanable = CLEANER.register(owner, this);
        }
    }

    /// Releases what is held. Called under the monitor, once the last reference was released.
    void endBorrow() {
        if (cleanable != null) {
            cleanable.clean();
        } else {
            run();
        }
    }

    /// Releases what is held; for the cleaner, which calls it at most once.
    @Override
    public synchronized void run() {
        Allocation held = allocation;
        allocation = null;
        source = null;
        if (held != null) {
            held.free();
        }
        if (base != null) {
            base.release();
        }
    }
}
