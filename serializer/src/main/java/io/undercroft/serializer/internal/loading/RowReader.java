package io.undercroft.serializer.internal.loading;

import io.undercroft.format.internal.Span;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.internal.ByteSpan;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.Optional;
import java.util.function.Function;

/// Reads a part of a tensor from where its bytes are, without touching its storage.
public final class RowReader {
    private RowReader() {}

    /// Copies all elements of a tensor. If its storage is to be loaded to a device later, only these are read.
    ///
    /// @param tensor the tensor
    /// @return the elements in row-major order on a new storage, on the device of the tensor
    public static Tensor copy(Tensor tensor) {
        Device device = tensor.device();
        if (device.isCpu() || device.isMeta()) {
            return tensor.copy(AnonymousMemory.allocator());
        }
        Optional<DeviceSource> source = tensor.numel() == 0
                ? Optional.empty()
                : DeviceSource.of(tensor.storage()).filter(DeviceSource::isReadInParts);
        if (source.isPresent()) {
            // That of the base, if the storage is a slice.
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
        Span bytes = ByteSpan.of(tensor);
        return dtype.isByteSized()
                ? bytes
                : new Span(bytes.start() / dtype.bits() * dtype.bits(), bytes.end());
    }
}
