package io.undercroft.serializer.internal.loading;

import io.undercroft.format.internal.Span;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.internal.ElementPositions;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Function;

/// Reads a part of a tensor from where its bytes are, without touching its storage.
public final class RowReader {
    /// The most bytes between two rows that are read together, since fetching them takes no longer than a request.
    private static final long GAP = 16 << 10;

    private RowReader() {}

    /// Divides a view of a tensor, and the memory that it is copied to, into parts between whose elements there are few
    /// other bytes.
    ///
    /// @param view the view
    /// @param target a tensor of the same shape
    /// @param parts called with each part of both
    public static void denseParts(Tensor view, Tensor target, BiConsumer<Tensor, Tensor> parts) {
        if (view.numel() == 0) {
            return;
        }
        int outer = -1;
        for (int dim = 0; dim < view.dim(); dim++) {
            if (view.size(dim) > 1
                    && (outer < 0 || Math.abs(view.stride(dim)) > Math.abs(view.stride(outer)))) {
                outer = dim;
            }
        }
        if (outer < 0) {
            parts.accept(view, target);
            return;
        }
        var row = ElementPositions.of(view.narrow(outer, 0, 1));
        long step = view.dtype().nbytes(Math.abs(view.stride(outer)));
        if (step - (row.end() - row.start()) <= GAP) {
            parts.accept(view, target);
            return;
        }
        for (long i = 0; i < view.size(outer); i++) {
            denseParts(view.narrow(outer, i, 1), target.narrow(outer, i, 1), parts);
        }
    }

    /// Copies all elements of a tensor. If its storage is to be loaded to a device later, only these are read.
    ///
    /// @param tensor the tensor
    /// @return the elements in row-major order on a new storage, on the device of the tensor
    public static Tensor copy(Tensor tensor) {
        Device device = tensor.device();
        if (tensor.numel() > 0 && !tensor.storage().isMaterialized()) {
            Optional<Tensor> part = StoredBytes.of(tensor.storage()).flatMap(bytes -> bytes.part(tensor));
            if (part.isPresent()) {
                return moved(part.get(), device);
            }
        }
        if (device.isCpu() || device.isMeta()) {
            return tensor.copy(AnonymousMemory.allocator());
        }
        Optional<DeviceSource> source = tensor.numel() == 0
                ? Optional.empty()
                : DeviceSource.of(tensor.storage()).filter(DeviceSource::isReadInParts);
        if (source.isPresent()) {
            // The source of the base, if the storage is a slice.
            long start = tensor.storage().sliceOffset();
            return read(tensor, part -> source.get().read(new Span(start + part.start(), start + part.end())));
        }
        return moved(tensor.cpu().copy(AnonymousMemory.allocator()), device);
    }

    /// Reads all elements of a tensor.
    ///
    /// @param tensor the tensor, with elements; its storage is not read
    /// @param source reads a part of the storage
    /// @return the elements in row-major order on a new storage, on the device of the tensor
    public static Tensor read(Tensor tensor, Function<Span, Allocation> source) {
        return moved(readToHost(tensor, source), tensor.device());
    }

    private static Tensor moved(Tensor onHost, Device device) {
        if (device.isCpu()) {
            return onHost;
        }
        try {
            return onHost.to(device);
        } finally {
            onHost.storage().release();
        }
    }

    private static Tensor readToHost(Tensor tensor, Function<Span, Allocation> source) {
        Span span = span(tensor);
        Storage storage = Storage.over(source.apply(span));
        long first = tensor.storageOffset() - Math.multiplyExact(span.start(), Byte.SIZE) / tensor.dtype().bits();
        Tensor read = Tensor.of(storage, tensor.dtype(), first, tensor.shape(), tensor.stride())
                .withFlags(tensor.flags());
        if (read.isContiguous() && read.nbytes() == storage.nbytes()) {
            return read;
        }
        try {
            return read.copy(AnonymousMemory.allocator());
        } finally {
            storage.release();
        }
    }

    /// Returns the bytes from the first element to the last. Those narrower than a byte begin where some element begins
    /// with a byte.
    private static Span span(Tensor tensor) {
        DType dtype = tensor.dtype();
        Span bytes = ElementPositions.of(tensor);
        return dtype.isByteSized()
                ? bytes
                : new Span(bytes.start() / dtype.bits() * dtype.bits(), bytes.end());
    }
}
