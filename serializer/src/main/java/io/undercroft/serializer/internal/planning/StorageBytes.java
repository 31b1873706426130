package io.undercroft.serializer.internal.planning;

import io.undercroft.storage.BorrowedBytes;
import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.Backing;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// The current bytes of a storage: in place; or copied to the host run by run, if they are on a device; or decoded, and
/// in memory while they are being saved.
final class StorageBytes implements PlannedStorage.Bytes {
    private final Storage storage;
    /// Its size when the save was planned.
    private final long nbytes;
    private final boolean isOnDevice;
    private final boolean isDecoded;
    private @Nullable BorrowedBytes borrowed;

    StorageBytes(Storage storage) {
        this.storage = storage;
        this.nbytes = storage.nbytes();
        this.isOnDevice = !storage.device().isCpu() && !storage.isMeta();
        this.isDecoded = !isOnDevice && storage.isDecodedOnDemand();
    }

    /// {@return the storage, if it is in memory of the host already}
    Optional<Storage> inPlace() {
        return isOnDevice || isDecoded ? Optional.empty() : Optional.of(storage);
    }

    @Override
    public MemorySegment slice(long offset, long length, MemorySegment buffer) {
        if (isOnDevice) {
            requireSize(storage.nbytes());
            return copied(offset, buffer.asSlice(0, length));
        }
        MemorySegment all = isDecoded ? decoded().segment() : storage.segment();
        requireSize(all.byteSize());
        return all.asSlice(offset, length);
    }

    private void requireSize(long now) {
        if (now < nbytes) {
            throw new IllegalStateException(describe() + " had " + nbytes
                    + " bytes, and was resized while it was being saved; save it before or after");
        }
    }

    private MemorySegment copied(long offset, MemorySegment into) {
        Storage part = storage.slice(offset, into.byteSize());
        try {
            var _ = Storage.wrap(into).copyFrom(part);
        } finally {
            part.release();
        }
        return into;
    }

    private synchronized Storage decoded() {
        if (borrowed == null) {
            borrowed = storage.borrow();
        }
        return borrowed.storage();
    }

    /// Returns the storage that has the bytes of the host, or null while there is none.
    private synchronized @Nullable Storage onHost() {
        if (isDecoded) {
            return borrowed == null ? null : borrowed.storage();
        }
        return isOnDevice ? null : storage;
    }

    @Override
    public boolean areOnDevice() {
        return isOnDevice;
    }

    @Override
    public boolean areDecoded() {
        return isDecoded;
    }

    @Override
    public boolean isAccessibleBy(Thread thread) {
        return isOnDevice || isDecoded || storage.segment().isAccessibleBy(thread);
    }

    @Override
    public Optional<Backing> backing() {
        return Optional.ofNullable(onHost()).flatMap(Storage::backing);
    }

    @Override
    public long start() {
        Storage host = onHost();
        return host == null ? 0 : host.sliceOffset();
    }

    @Override
    public String describe() {
        return storage.describe();
    }

    @Override
    public synchronized void release() {
        if (borrowed != null) {
            borrowed.close();
            borrowed = null;
        }
    }
}
