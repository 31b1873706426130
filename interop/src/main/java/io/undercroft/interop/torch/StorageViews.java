package io.undercroft.interop.torch;

import io.undercroft.storage.Storage;
import org.jspecify.annotations.Nullable;

/// Storages that are parts of others, as versions of PyTorch before 0.4 could have them.
final class StorageViews {
    private StorageViews() {}

    /// Makes a storage of a part of another one.
    ///
    /// @param root the other one
    /// @param offset where it starts, an integer, in elements
    /// @param numel how many elements it has, an integer
    /// @param itemsize bytes in an element
    /// @return the slice
    /// @throws PickleFault if the part is not inside
    static Storage slice(Storage root, @Nullable Object offset, @Nullable Object numel, int itemsize) {
        try {
            if (offset instanceof Long first && numel instanceof Long count && first >= 0 && count >= 0) {
                return root.slice(Math.multiplyExact(first, itemsize), Math.multiplyExact(count, itemsize));
            }
        } catch (ArithmeticException | IndexOutOfBoundsException | IllegalArgumentException _) {
            // Said below.
        }
        throw PickleFault.because("TORCH-STORAGE", "a view of a storage does not lie inside it", PickleFault.DAMAGED);
    }
}
