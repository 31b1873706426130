package io.undercroft.storage.spi;

import io.undercroft.storage.Allocator;
import io.undercroft.storage.Device;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;

/// A provider of memory of another module. Found by [java.util.ServiceLoader]; of several providers the first that
/// supports a request is used. Instances are safe for any thread and do nothing before the first call.
public interface MemoryProvider {
    /// {@return an allocator of memory that other processes can attach by the file name of the allocation, or nothing
    /// if there is none here}
    default Optional<Allocator> shared() {
        return Optional.empty();
    }

    /// {@return an allocator of host memory that the system does not move, which devices copy fast from, or nothing}
    default Optional<Allocator> pinned() {
        return Optional.empty();
    }

    /// Pins bytes of the host where they are, so that devices copy from and to them directly.
    ///
    /// @param bytes which bytes, at least one, off the heap; they stay until `unpinned` is called
    /// @param unpinned called once, when the bytes are not pinned any more and no device copies them
    /// @return what ends it, which is called once; nothing if this provider pins no memory
    /// @throws IllegalStateException if they cannot be pinned; `unpinned` is not called then
    default Optional<Runnable> pinInPlace(MemorySegment bytes, Runnable unpinned) {
        return Optional.empty();
    }

    /// {@return the exception for mapped bytes that cannot be read any more, or empty if they can} Called after a
    /// fault, and before mapped bytes are given to a device, whose native code does not bear one.
    ///
    /// @param segment the bytes, off the heap
    default Optional<RuntimeException> lost(MemorySegment segment) {
        return Optional.empty();
    }

    /// {@return the devices whose memory [#device] returns} Used for messages.
    default List<Device> devices() {
        return List.of();
    }

    /// {@return the memory of a device, or empty if this provider does not support it or it is missing}
    ///
    /// @param device which device; never the CPU or meta
    default Optional<DeviceMemory> device(Device device) {
        return Optional.empty();
    }
}
