package io.undercroft.serializer.internal.planning;

import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.Backing;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/// The current bytes of a storage.
///
/// @param storage the storage
/// @param nbytes its size when the save was planned
record StorageBytes(Storage storage, long nbytes) implements PlannedStorage.Bytes {
    @Override
    public MemorySegment slice(long offset, long length, MemorySegment buffer) {
        MemorySegment all = storage.segment();
        if (all.byteSize() < nbytes) {
            throw resized(storage, nbytes);
        }
        return all.asSlice(offset, length);
    }

    static IllegalStateException resized(Storage storage, long nbytes) {
        return new IllegalStateException(storage.describe() + " had " + nbytes
                + " bytes, and was resized while it was being saved; save it before or after");
    }

    @Override
    public boolean isAccessibleBy(Thread thread) {
        return storage.segment().isAccessibleBy(thread);
    }

    @Override
    public Optional<Backing> backing() {
        return storage.backing();
    }

    @Override
    public long start() {
        return storage.sliceOffset();
    }

    @Override
    public String describe() {
        return storage.describe();
    }
}
