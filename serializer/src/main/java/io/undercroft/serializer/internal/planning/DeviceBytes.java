package io.undercroft.serializer.internal.planning;

import io.undercroft.storage.Storage;
import java.lang.foreign.MemorySegment;

/// The current bytes of a storage on a device, copied to the host run by run.
///
/// @param storage the storage
/// @param nbytes its size when the save was planned
record DeviceBytes(Storage storage, long nbytes) implements PlannedStorage.Bytes {
    @Override
    public MemorySegment slice(long offset, long length, MemorySegment buffer) {
        if (storage.nbytes() < nbytes) {
            throw StorageBytes.resized(storage, nbytes);
        }
        MemorySegment copy = buffer.asSlice(0, length);
        Storage part = storage.slice(offset, length);
        try {
            var _ = Storage.wrap(copy).copyFrom(part);
        } finally {
            part.release();
        }
        return copy;
    }

    @Override
    public boolean areOnDevice() {
        return true;
    }

    @Override
    public String describe() {
        return storage.describe();
    }
}
