package io.undercroft.interop.safetensors;

import io.undercroft.format.FormatException;
import io.undercroft.interop.safetensors.SharingMetadata.View;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import org.jspecify.annotations.Nullable;

/// A tensor as the header describes it: row-major, and `end - start` bytes of the file.
///
/// @param name its name
/// @param type the type of its elements
/// @param shape its sizes in the file
/// @param start where its first byte is in the file
/// @param end where its last byte has been
/// @param fault why the tensor cannot be read, or null; then the type is that of its bytes
record TensorEntry(String name, SafetensorsType type, Shape shape, long start, long end,
        @Nullable FormatException fault) {
    long nbytes() {
        return end - start;
    }

    DType dtype() {
        return type.dtype(shape);
    }

    Storage storage(FileStorages storages) {
        return storages.stored(start, nbytes(), FileStorages.alignment(dtype()));
    }

    /// {@return the tensor, on a storage that is its own}
    Tensor on(Storage storage) {
        try {
            Shape sizes = type.shape(shape);
            return Tensor.of(storage, dtype(), 0, sizes, sizes.contiguousStride());
        } catch (IllegalArgumentException e) {
            throw refused(e);
        }
    }

    /// {@return the tensor as a view of another one}
    Tensor on(Storage base, View view) {
        try {
            return Tensor.of(base, dtype(), view.offset() / dtype().itemsize(), type.shape(shape), view.strides());
        } catch (IllegalArgumentException e) {
            throw refused(e);
        }
    }

    private FormatException refused(IllegalArgumentException e) {
        return new FormatException("SAFETENSORS-TENSOR",
                "tensor " + FormatException.quote(name) + " cannot be: " + e.getMessage(), start,
                SafetensorsHeader.DAMAGED, e);
    }
}
