package io.undercroft.serializer.internal.analysis;

import io.undercroft.storage.BorrowedBytes;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import org.jspecify.annotations.Nullable;

/// The bytes of the storage that was read last. They stay borrowed until those of another storage are: consecutive
/// tensors are often on one storage, and at most one decoded storage is in memory. For use by one thread.
public final class LastBorrowed implements AutoCloseable {
    private @Nullable Storage storage;
    private @Nullable BorrowedBytes bytes;

    /// Creates an object that has borrowed nothing yet.
    public LastBorrowed() {}

    /// {@return the bytes of a storage, valid until those of another one are borrowed or this is closed}
    ///
    /// @param storage the storage
    public BorrowedBytes of(Storage storage) {
        BorrowedBytes existing = bytes;
        if (existing == null || this.storage != storage) {
            close();
            existing = storage.borrow();
            bytes = existing;
            this.storage = storage;
        }
        return existing;
    }

    /// {@return the tensor on borrowed bytes, valid as long as these}
    ///
    /// @param tensor the tensor
    public Tensor on(Tensor tensor) {
        return of(tensor.storage()).on(tensor);
    }

    /// {@return the same, after its bytes were compared with the checksums that the file has of them, unless they were
    /// before}
    ///
    /// @param tensor the tensor
    /// @throws io.undercroft.format.FormatException if they are damaged
    public Tensor checked(Tensor tensor) {
        Tensor onBytes = on(tensor);
        if (onBytes.numel() > 0) {
            boolean isPart = onBytes.dtype().isByteSized();
            long start = isPart ? onBytes.storageOffset() * onBytes.itemsize() : 0;
            checked(tensor.storage(), start, isPart ? TensorBlocks.span(onBytes) : tensor.storage().nbytes());
        }
        return onBytes;
    }

    /// {@return the bytes of a storage, after a part of them was compared with checksums as in [#checked(Tensor)]}
    ///
    /// @param storage the storage
    /// @param from the first byte of the part
    /// @param length its length in bytes
    /// @throws io.undercroft.format.FormatException if it is damaged
    public Storage checked(Storage storage, long from, long length) {
        Storage checked = of(storage).storage();
        if (checked.device().isCpu()) {
            // The file behind the bytes is known when they are there.
            checked.segment();
        }
        checked.checkBytes(from, from + length);
        return checked;
    }

    /// Frees the memory of what was decoded.
    @Override
    public void close() {
        if (bytes != null) {
            bytes.close();
            bytes = null;
            storage = null;
        }
    }
}
