package io.undercroft.serializer.internal.planning;

import io.undercroft.storage.Loan;
import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.Backing;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// The bytes of a storage that is decoded on demand. They are in memory while they are being saved.
final class DecodedBytes implements PlannedStorage.Bytes {
    private final Storage storage;
    private @Nullable Loan loan;

    DecodedBytes(Storage storage) {
        this.storage = storage;
    }

    @Override
    public synchronized MemorySegment slice(long offset, long length, MemorySegment buffer) {
        if (loan == null) {
            loan = storage.borrow();
        }
        return loan.storage().segment().asSlice(offset, length);
    }

    @Override
    public synchronized Optional<Backing> backing() {
        return loan == null ? Optional.empty() : loan.storage().backing();
    }

    @Override
    public synchronized long start() {
        return loan == null ? 0 : loan.storage().sliceOffset();
    }

    @Override
    public String describe() {
        return storage.describe();
    }

    @Override
    public boolean areDecoded() {
        return true;
    }

    @Override
    public synchronized void release() {
        if (loan != null) {
            loan.close();
            loan = null;
        }
    }
}
