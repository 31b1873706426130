package io.undercroft.cuda;

import io.undercroft.cuda.internal.CudaMemory;
import io.undercroft.cuda.internal.Driver;
import io.undercroft.storage.Device;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/// A CUDA device of this machine: as the driver describes it. The counterpart of
/// `torch.cuda.get_device_properties`.
///
/// The first call looks for devices, once per process. Instances are safe for use by several
/// threads.
public final class CudaDevice {
    private final int index;

    private CudaDevice(int index) {
        this.index = index;
    }

    /// {@return whether storages can be on a CUDA device} Never throws, whatever is installed.
    public static boolean isAvailable() {
        return unavailability().isEmpty();
    }

    /// {@return why there is no CUDA device and what to do about it, in one line; nothing if there is one} Never
    /// throws.
    public static Optional<String> unavailability() {
        return Driver.unavailability();
    }

    /// {@return how many devices there are; 0 if CUDA is not available}
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
    /// @throws CudaException if there is no such device; its message has the number of devices, or why there is none
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

    /// {@return how much memory no process uses now, in bytes} The first call makes the CUDA context of this process on
    /// the device, which takes some memory itself.
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
