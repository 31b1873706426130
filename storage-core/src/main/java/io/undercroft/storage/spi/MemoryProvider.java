package io.undercroft.storage.spi;

import io.undercroft.storage.Allocator;
import io.undercroft.storage.Device;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;

/// A provider of memory, loaded by [java.util.ServiceLoader]. If there are several providers, the first that supports a
/// request is used. Instances are thread-safe, and initialise nothing before the first call.
public interface MemoryProvider {
    /// Allocates large memory off the heap that the garbage collector frees, in less time than filling it with zeros
    /// takes. Its total is bounded by `-XX:MaxDirectMemorySize`; at the bound, unreachable memory is collected first.
    ///
    /// @param nbytes the size in bytes, 2 MiB or more
    /// @return zeroed bytes, aligned to [io.undercroft.storage.Storage#ALIGNMENT]; empty if this provider has none
    /// @throws OutOfMemoryError if there is not enough memory within the bound
    default Optional<MemorySegment> collected(long nbytes) {
        return Optional.empty();
    }

    /// {@return an allocator of memory that other processes can attach by the
    /// [filename][io.undercroft.storage.Allocation#filename] of the allocation, or empty if there is none}
    default Optional<Allocator> shared() {
        return Optional.empty();
    }

    /// {@return an allocator of page-locked host memory, which devices access directly, or empty if there is none}
    default Optional<Allocator> pinned() {
        return Optional.empty();
    }

    /// Pins bytes of the host in place, so that devices copy from and to them directly.
    ///
    /// @param bytes the bytes, at least one, off the heap; they are valid until `unpinned` is called
    /// @param unpinned called once, after the bytes were unpinned and all copies have ended
    /// @return the action that unpins the bytes, which is called once; empty if this provider does not pin memory
    /// @throws IllegalStateException if they cannot be pinned; `unpinned` is not called then
    default Optional<Runnable> pinInPlace(MemorySegment bytes, Runnable unpinned) {
        return Optional.empty();
    }

    /// {@return an exception if mapped bytes cannot be read any more, or empty if they can} Called after a fault, and
    /// before mapped bytes are passed to a device, since a fault in native code crashes the JVM.
    ///
    /// @param segment the bytes, off the heap
    default Optional<RuntimeException> lost(MemorySegment segment) {
        return Optional.empty();
    }

    /// {@return the devices that [#device] supports, for messages}
    default List<Device> devices() {
        return List.of();
    }

    /// {@return the memory of a device, or empty if this provider does not support it or it is missing}
    ///
    /// @param device the device, never the CPU or meta
    default Optional<DeviceMemory> device(Device device) {
        return Optional.empty();
    }
}
