package io.undercroft.adapters;

import io.undercroft.storage.Storage;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.bytes.PointerBytesStore;
import net.openhft.chronicle.core.io.ReferenceOwner;

/// Storages as stores of Chronicle Bytes, on the same memory, also beyond 2 GiB.
public final class BytesStores {
    private BytesStores() {}

    /// Returns a store on the bytes of a storage.
    ///
    /// @param storage the storage
    /// @return the store. Chronicle checks few indices: writing past its end changes other memory. It holds a
    ///     reference to the storage until shortly after its last one is released, which Chronicle does in a separate
    ///     thread; the caller has its first
    /// @throws IllegalArgumentException if the storage is empty, on the heap or read-only
    /// @throws IllegalStateException if it was freed or has no bytes (meta)
    public static BytesStore<?, Void> lend(Storage storage) {
        MemorySegment bytes = Lending.someBytes(storage);
        return new Lent(bytes, storage.retain());
    }

    /// Creates a storage on the memory of a store off the heap. Of an elastic `Bytes` it is the memory that it has now,
    /// and of a file that is mapped chunk by chunk the chunk that was used last.
    ///
    /// @param store the store: all of its capacity, from its start
    /// @return the storage, which holds a reference to the store; read-only if the store is
    /// @throws IllegalArgumentException if the store lies on the heap, or has no memory (yet)
    /// @throws IllegalStateException if it was released
    public static Storage storage(BytesStore<?, ?> store) {
        BytesStore<?, ?> there = store.bytesStore();
        // A chunk of a file counts its capacity from the start of the file.
        long nbytes = there.realCapacity() - there.start();
        if (nbytes == 0) {
            throw new IllegalArgumentException("the store has no memory to show; write to it first");
        }
        if (!there.isDirectMemory()) {
            throw new IllegalArgumentException(
                    "the store lies on the heap; wrap its array with Storage.wrap(MemorySegment.ofArray(…))");
        }
        ReferenceOwner holder = ReferenceOwner.temporary("storage");
        there.reserve(holder);
        MemorySegment bytes = Lending.memory(there.addressForRead(there.start()), nbytes);
        return Lending.storage(isReadOnly(there) ? bytes.asReadOnly() : bytes, there, () -> there.release(holder));
    }

    /// The JVM would die of writing to such memory. A mapped store does not report what it is, but refuses to
    /// write even nothing.
    private static boolean isReadOnly(BytesStore<?, ?> store) {
        if (store.underlyingObject() instanceof ByteBuffer buffer && buffer.isReadOnly()) {
            return true;
        }
        try {
            store.write(store.start(), new byte[0], 0, 0);
            return false;
        } catch (IllegalStateException _) {
            return true;
        }
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
