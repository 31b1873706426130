package io.undercroft.storage.spi;

import io.undercroft.storage.Allocator;
import io.undercroft.storage.Device;
import java.lang.foreign.MemorySegment;

/// The memory of one device that the host cannot read or write itself.
///
/// Its allocations have segments whose addresses and sizes are those on the device; the host never follows them, but
/// gives them, or slices of them, back to the methods here. All methods return when the bytes are where they should be.
/// They throw [IllegalStateException] when the device fails. Mapped bytes of the host were found to be readable just before
/// they come here.
public interface DeviceMemory extends Allocator {
    /// {@return the device, with its index}
    @Override
    Device device();

    /// Copies from the device to the host.
    ///
    /// @param source on this device
    /// @param target on the host, of the same size
    void toHost(MemorySegment source, MemorySegment target);

    /// Copies from the host to the device.
    ///
    /// @param source on the host
    /// @param target on this device, of the same size
    void fromHost(MemorySegment source, MemorySegment target);

    /// Copies inside the device; the two may overlap.
    ///
    /// @param source on this device
    /// @param target on this device, of the same size
    void copy(MemorySegment source, MemorySegment target);

    /// Writes one value over all bytes.
    ///
    /// @param target on this device
    /// @param value what to write
    void fill(MemorySegment target, byte value);
}
