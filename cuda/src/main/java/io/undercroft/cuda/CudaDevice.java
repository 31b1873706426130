package io.undercroft.cuda;

import io.undercroft.cuda.internal.CudaMemory;
import io.undercroft.cuda.internal.Driver;
import io.undercroft.storage.Device;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/// A CUDA device of this machine, with its properties. The counterpart of `torch.cuda.get_device_properties`.
///
/// The first call of a method initialises the driver. Instances are thread-safe.
public final class CudaDevice {
    private final int index;

    private CudaDevice(int index) {
        this.index = index;
    }

    /// {@return whether CUDA is available} Never throws.
    public static boolean isAvailable() {
        return unavailability().isEmpty();
    }

    /// {@return the reason why CUDA is not available and a remedy, in one line; empty if it is available} Never throws.
    public static Optional<String> unavailability() {
        return Driver.unavailability();
    }

    /// {@return the number of devices; 0 if CUDA is not available}
    public static int count() {
        return isAvailable() ? Driver.get().deviceCount() : 0;
    }

    /// {@return all devices, in the order of their indices}
    public static List<CudaDevice> all() {
        return IntStream.range(0, count()).mapToObj(CudaDevice::new).toList();
    }

    /// {@return the device of an index}
    ///
    /// @param index from 0 to `count() - 1`
    /// @throws CudaException if there is no such device; the message has the number of devices, or the reason why CUDA
    ///     is not available
    public static CudaDevice of(int index) {
        Driver.of(index);
        return new CudaDevice(index);
    }

    /// {@return the CUDA version that the driver supports, for instance `12.4`}
    ///
    /// @throws CudaException if CUDA is not available
    public static String driverVersion() {
        return Driver.get().version();
    }

    /// {@return the device, for [io.undercroft.storage.Storage#to]}
    public Device device() {
        return Device.cuda(index);
    }

    /// {@return the name of the product, for instance `NVIDIA H100 80GB HBM3`}
    public String name() {
        return Driver.get().name(index);
    }

    /// {@return the memory of the device in bytes}
    public long totalMemory() {
        return Driver.get().totalMemory(index);
    }

    /// {@return the free memory of the device in bytes} The first call creates the CUDA context of this process on the
    /// device, which takes some memory.
    ///
    /// @throws CudaException if the device fails
    public long freeMemory() {
        return CudaMemory.of(index).freeMemory();
    }

    /// {@return the compute capability, for instance `9.0`}
    public String computeCapability() {
        return Driver.get().computeCapability(index);
    }

    /// {@return the address on the PCI bus, for instance `0000:3b:00.0`}
    public String pciId() {
        return Driver.get().pciId(index);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof CudaDevice device && device.index == index;
    }

    @Override
    public int hashCode() {
        return index;
    }

    /// {@return the device in PyTorch's notation and its name, for messages}
    @Override
    public String toString() {
        return device() + " (" + name() + ")";
    }
}
