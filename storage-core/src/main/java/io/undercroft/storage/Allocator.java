package io.undercroft.storage;

/// An allocator of memory for storages. The counterpart of PyTorch's `c10::Allocator` and Torch7's `THAllocator`.
///
/// [#offHeap] is the default; [#heap] needs no native memory. The module `mmap` has allocators of anonymous memory in
/// huge pages, which is returned to the system when it is freed, and of shared memory; `cuda` has allocators of pinned
/// memory and of device memory. A custom allocator can be a lambda expression.
///
/// Implementations must be thread-safe.
@FunctionalInterface
public interface Allocator {
    /// Allocates zeroed bytes.
    ///
    /// @param nbytes how many bytes, 0 or more
    /// @return an allocation of exactly that size; aligned to [Storage#ALIGNMENT] bytes unless it is on the heap
    /// @throws OutOfMemoryError if the host does not have enough memory
    /// @throws IllegalStateException if the device does not have enough memory, or memory cannot be pinned. Allocators
    ///     of `cuda` throw a `CudaException` with the code `OUT_OF_MEMORY`
    Allocation allocate(long nbytes);

    /// {@return the device of the bytes; the CPU unless overridden}
    default Device device() {
        return Device.CPU;
    }

    /// {@return whether the memory is page-locked, so that devices copy from it and to it directly (`is_pinned` in
    /// PyTorch)}
    default boolean isPinned() {
        return false;
    }

    /// {@return the allocator of off-heap memory that the garbage collector frees} Its total is bounded by
    /// `-XX:MaxDirectMemorySize`, which the JVM sets to the maximum heap size by default.
    ///
    /// With the module `mmap` on Linux, memory of 2 MiB or more is mapped, in huge pages if the system has them. It
    /// provides a page when it is first accessed. The first 32 MiB are filled by the JDK. Mapped memory is bounded by
    /// the same number of bytes, but counted apart from other memory and from direct buffers.
    static Allocator offHeap() {
        return JdkAllocator.OFF_HEAP;
    }

    /// {@return the default allocator of a device: [#offHeap] for the CPU, otherwise that of the provider of the
    /// device}
    ///
    /// @param device the device
    /// @throws IllegalArgumentException for [Device#META], whose storages have no bytes; see [Storage#meta]
    /// @throws IllegalStateException if there is no such device
    static Allocator on(Device device) {
        if (device.isMeta()) {
            throw new IllegalArgumentException("nothing is allocated on meta; Storage.meta makes storages there");
        }
        return device.isCpu() ? offHeap() : MemoryProviders.device(device);
    }

    /// {@return the allocator of arrays on the heap} They are aligned to 8 bytes, have no fixed address, and have at
    /// most about 16 GiB.
    static Allocator heap() {
        return JdkAllocator.HEAP;
    }
}
