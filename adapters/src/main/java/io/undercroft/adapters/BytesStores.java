package io.undercroft.adapters;

import io.undercroft.storage.Storage;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.bytes.PointerBytesStore;
import net.openhft.chronicle.core.io.ReferenceOwner;

/// Stores of Chronicle Bytes on the memory of storages, and the reverse. They may have more than 2 GiB.
public final class BytesStores {
    private BytesStores() {}

    /// Creates a store on the bytes of a storage. Chronicle checks few indices: a write past the end of the store
    /// changes other memory.
    ///
    /// @param storage the storage
    /// @return the store, with one reference, which the caller releases. It holds a reference to the storage, which
    ///     Chronicle releases in a separate thread shortly after the last reference to the store
    /// @throws IllegalArgumentException if the storage is empty, on the heap or read-only
    /// @throws IllegalStateException if it was freed or has no bytes (meta)
    public static BytesStore<?, Void> wrap(Storage storage) {
        MemorySegment bytes = NativeMemory.someBytes(storage);
        return view(bytes, storage.retain()::release);
    }

    /// Creates a store on memory off the heap.
    ///
    /// @param bytes the memory
    /// @param release run once after the last release of the store, in a thread of Chronicle
    static BytesStore<?, Void> view(MemorySegment bytes, Runnable release) {
        return new View(bytes, release);
    }

    /// Creates a storage on the memory of a store off the heap, from the start of the store to its capacity. Of an
    /// elastic `Bytes`, that is its present memory. Of a file that Chronicle maps in chunks, it is the chunk that was
    /// used last.
    ///
    /// @param store the store
    /// @return the storage, which holds a reference to the store; read-only if the store is
    /// @throws IllegalArgumentException if the store is on the heap or has no memory yet
    /// @throws IllegalStateException if the store was released
    public static Storage asStorage(BytesStore<?, ?> store) {
        BytesStore<?, ?> memory = store.bytesStore();
        // A chunk of a file counts its capacity from the start of the file.
        long nbytes = memory.realCapacity() - memory.start();
        if (nbytes == 0) {
            throw new IllegalArgumentException("the store has no memory yet; write to it first");
        }
        if (!memory.isDirectMemory()) {
            throw new IllegalArgumentException(
                    "the store is on the heap; wrap its array with Storage.wrap(MemorySegment.ofArray(…))");
        }
        return storage(memory, nbytes);
    }

    /// Creates a storage on the first bytes of memory off the heap.
    ///
    /// @param memory the memory
    /// @param nbytes the number of bytes
    static Storage storage(BytesStore<?, ?> memory, long nbytes) {
        ReferenceOwner holder = ReferenceOwner.temporary("storage");
        memory.reserve(holder);
        MemorySegment bytes = NativeMemory.memory(memory.addressForRead(memory.start()), nbytes);
        return NativeMemory.storage(isReadOnly(memory) ? bytes.asReadOnly() : bytes, memory,
                () -> memory.release(holder));
    }

    /// Returns whether a write would crash the JVM. A mapped store does not report that it is read-only, but refuses to
    /// write even zero bytes.
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

    /// A store on memory that it does not own.
    private static final class View extends PointerBytesStore {
        private final Runnable release;

        View(MemorySegment bytes, Runnable release) {
            this.release = release;
            set(bytes.address(), bytes.byteSize());
        }

        @Override
        protected void performRelease() {
            super.performRelease();
            release.run();
        }
    }
}
