package io.undercroft.cuda.internal;

import io.undercroft.cuda.CudaDevice;
import io.undercroft.cuda.CudaException;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Device;
import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.MemoryProvider;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;

/// The memory of CUDA devices, and pinned memory where there is one.
public final class CudaProvider implements MemoryProvider {
    /// For [java.util.ServiceLoader].
    public CudaProvider() {}

    @Override
    public Optional<Allocator> pinned() {
        return Driver.unavailability().isPresent() ? Optional.empty() : Optional.of(CudaMemory.of(0).pinned());
    }

    @Override
    public List<Device> devices() {
        return CudaDevice.all().stream().map(CudaDevice::device).toList();
    }

    @Override
    public Optional<Runnable> pinInPlace(MemorySegment bytes, Runnable unpinned) {
        return Driver.unavailability().isPresent()
                ? Optional.empty()
                : Optional.of(CudaMemory.of(0).pinned().pinInPlace(bytes, unpinned));
    }

    /// Returns the memory of a CUDA device; without an index, of the first one.
    ///
    /// @throws CudaException if it is not there, with the reason
    @Override
    public Optional<DeviceMemory> device(Device device) {
        return device.isCuda() ? Optional.of(CudaMemory.of(Math.max(device.index(), 0))) : Optional.empty();
    }
}
