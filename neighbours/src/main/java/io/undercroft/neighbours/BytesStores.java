package io.undercroft.neighbours;

import io.undercroft.storage.Storage;
import java.lang.foreign.MemorySegment;
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.bytes.PointerBytesStore;
import net.openhft.chronicle.core.io.ReferenceOwner;

/// Storages as stores of Chronicle Bytes, on the same memory, also beyond 2 GiB.
public final class BytesStores {
    private BytesStores() {}

    /// A store on the bytes of a storage.
    ///
    /// @param storage what to show
    /// @return the store. Chronicle checks few indices: writing behind its end writes to other memory. It holds a reference to the storage until shortly after its last one is released, which Chronicle does in a thread of its own; who calls this has its first
    /// @throws IllegalArgumentException if the storage is empty, on the heap or read-only
    /// @throws IllegalStateException if it was freed or has no bytes (meta)
    public static BytesStore<?, Void> lend(Storage storage) {
        MemorySegment bytes = Lending.someBytes(storage);
        return new Lent(bytes, storage.retain());
    }

    /// A storage on the memory of a store off the heap. Of an elastic `Bytes` it is the memory that it has now.
    ///
    /// @param store what to show: all of its capacity, from its start
    /// @return the storage, which holds a reference to the store
    /// @throws IllegalArgumentException if the store lies on the heap
    public static Storage storage(BytesStore<?, ?> store) {
        BytesStore<?, ?> there = store.bytesStore();
        if (!there.isDirectMemory()) {
            throw new IllegalArgumentException(
                    "the store lies on the heap; wrap its array with Storage.wrap(MemorySegment.ofArray(…))");
        }
        ReferenceOwner holder = ReferenceOwner.temporary("storage");
        there.reserve(holder);
        return Lending.storage(there.addressForRead(there.start()), there.realCapacity(), there,
                () -> there.release(holder));
    }

    /// Memory of a storage, until Chronicle needs it no more.
    private static final class Lent extends PointerBytesStore {
        private final Storage storage;

        Lent(MemorySegment bytes, Storage storage) {
            this.storage = storage;
            set(bytes.address(), bytes.byteSize());
        }

        @Override
        protected void performRelease() {
            super.performRelease();
            storage.release();
        }
    }
}
