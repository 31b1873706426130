package io.undercroft.serializer.analysis;

import io.undercroft.storage.Loan;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.spi.Backing;
import org.jspecify.annotations.Nullable;

/// The loan of the storage that was read last. It stays borrowed until another one is, as tensors on one storage often
/// come one after the other, and so that no more than one decoded storage is in memory. For use by one thread.
public final class LastLoan implements AutoCloseable {
    private @Nullable Storage borrowed;
    private @Nullable Loan loan;

    /// A loan of nothing yet.
    public LastLoan() {}

    /// {@return the bytes of a storage, valid until those of another one are borrowed or this is closed}
    ///
    /// @param storage the storage
    public Loan of(Storage storage) {
        Loan there = loan;
        if (there == null || borrowed != storage) {
            close();
            there = storage.borrow();
            loan = there;
            borrowed = storage;
        }
        return there;
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
        Tensor there = on(tensor);
        Storage storage = there.storage();
        if (there.numel() > 0) {
            // The file behind the bytes is known when they are there.
            storage.segment();
            boolean isPart = there.dtype().isByteSized();
            long start = isPart ? there.storageOffset() * there.itemsize() : 0;
            long end = isPart ? start + TensorBlocks.span(there) : storage.nbytes();
            Backing.check(storage, start, end);
        }
        return there;
    }

    /// Frees the memory of what was decoded.
    @Override
    public void close() {
        if (loan != null) {
            loan.close();
            loan = null;
            borrowed = null;
        }
    }
}
