package io.undercroft.storage;

/// The bytes of a storage, borrowed for one operation that reads all of them, such as hashing or saving; see
/// [Storage#borrow]. Not thread-safe.
public final class BorrowedBytes implements AutoCloseable {
    private final Storage source;
    private final Storage storage;
    private final Runnable end;

    /// @param source the storage that was borrowed
    /// @param storage the one that has the bytes
    /// @param end releases the bytes
    BorrowedBytes(Storage source, Storage storage, Runnable end) {
        this.source = source;
        this.storage = storage;
        this.end = end;
    }

    /// {@return a storage of the borrowed bytes, valid until this is closed} It is the borrowed storage itself,
    /// unless the bytes were made for this borrower only.
    public Storage storage() {
        return storage;
    }

    /// {@return a tensor of the same geometry and type on the borrowed bytes, valid until this is closed}
    ///
    /// @param tensor a tensor on the storage that was borrowed
    /// @throws IllegalArgumentException if it is on another storage
    public Tensor on(Tensor tensor) {
        if (tensor.storage() != source) {
            throw new IllegalArgumentException("the tensor is on " + tensor.storage().describe() + " and not on "
                    + source.describe());
        }
        return storage == source ? tensor : tensor.withStorage(storage);
    }

    /// Frees the bytes if they were made for this borrower only. The second and later calls have no effect.
    @Override
    public void close() {
        end.run();
    }
}
