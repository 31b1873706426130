package io.undercroft.interop.torch7;

import io.undercroft.storage.DType;
import io.undercroft.storage.Loan;
import io.undercroft.storage.Storage;
import io.undercroft.storage.TypedStorage;
import java.lang.foreign.MemorySegment;

/// The elements that a storage had when a file was planned.
///
/// @param storage their bytes
/// @param dtype their type
/// @param size how many
record StoredElements(Storage storage, DType dtype, long size) {
    /// Elements that are worked on at once.
    static final int CHUNK = 1 << 13;

    static StoredElements of(TypedStorage elements) {
        return new StoredElements(elements.untyped(), elements.dtype(), elements.size());
    }

    long nbytes() {
        return size * dtype.itemsize();
    }

    /// {@return the bytes by now}
    ///
    /// @param loan of the storage
    MemorySegment bytes(Loan loan) {
        MemorySegment all = loan.storage().segment();
        checkSize(all.byteSize());
        return all.asSlice(0, nbytes());
    }

    /// {@return the storage, which has not become smaller}
    Storage checkedStorage() {
        checkSize(storage.nbytes());
        return storage;
    }

    private void checkSize(long now) {
        if (now < nbytes()) {
            throw new IllegalStateException(
                    storage.describe() + " had " + nbytes() + " bytes, and was resized while it "
                            + "was being saved; save it before or after");
        }
    }
}
