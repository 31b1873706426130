package io.undercroft.storage;

/// A source of bytes for new storages. The counterpart of PyTorch's `c10::Allocator` and Torch7's `THAllocator`.
///
/// [#offHeap] is the usual one and [#heap] the one for code that must work without native memory. The module `mmap` has
/// two more: anonymous memory in huge pages, which is returned to the system at once, and shared memory; `cuda` adds
/// pinned memory and memory of devices. A lambda implements a custom one.
///
/// Allocators are stateless or thread-safe, so that one instance serves the whole process.
@FunctionalInterface
public interface Allocator {
    /// Allocates zeroed bytes.
    ///
    /// @param nbytes how many bytes, 0 or more
    /// @return an allocation of exactly that size; aligned to [Storage#ALIGNMENT] bytes unless it lies on the heap
    /// @throws OutOfMemoryError if there is not enough memory of the host
    /// @throws IllegalStateException if there is not enough memory of the device, or it cannot be pinned, from an
    ///     allocator of `cuda`: its `CudaException`, with the code `OUT_OF_MEMORY`
    Allocation allocate(long nbytes);

    /// {@return the device of the bytes; the CPU unless overridden}
    default Device device() {
        return Device.CPU;
    }

    /// {@return whether the bytes stay at one place of the physical memory, which devices copy fast from
    /// (`is_pinned` in PyTorch)}
    default boolean isPinned() {
        return false;
    }

    /// {@return the allocator of off-heap memory that the garbage collector frees} Its total is bounded by
    /// `-XX:MaxDirectMemorySize`, which the JVM sets to the maximum heap size by default.
    static Allocator offHeap() {
        return JdkAllocator.OFF_HEAP;
    }

    /// {@return the usual allocator of a device: [#offHeap] for the CPU, else the one of the device's provider}
    ///
    /// @param device the device of the bytes
    /// @throws IllegalArgumentException for [Device#META], whose storages have no bytes: [Storage#meta] makes them
    /// @throws IllegalStateException if there is no such device
    static Allocator on(Device device) {
        if (device.isMeta()) {
            throw new IllegalArgumentException("nothing is allocated on meta; Storage.meta makes storages there");
        }
        return device.isCpu() ? offHeap() : MemoryProviders.device(device);
    }

    /// {@return the allocator of arrays on the heap} They are aligned to 8 bytes, have no address, and hold up to some
    /// 16 GiB.
    static Allocator heap() {
        return JdkAllocator.HEAP;
    }
}
