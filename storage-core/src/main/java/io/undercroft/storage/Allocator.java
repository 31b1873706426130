package io.undercroft.storage;

import java.lang.foreign.Arena;

/// Where the bytes of new storages come from. The counterpart of PyTorch's `c10::Allocator` and Torch7's `THAllocator`.
///
/// Allocators are stateless or thread-safe, so that one instance serves the whole process.
@FunctionalInterface
public interface Allocator {
    /// Allocates zeroed bytes.
    ///
    /// @param nbytes how many bytes, 0 or more
    /// @return an allocation of exactly that size, aligned to at least 64 bytes
    /// @throws OutOfMemoryError when the bytes are not to be had
    Allocation allocate(long nbytes);

    /// {@return the allocator of off-heap memory that the garbage collector gives back} Its total is bounded by
    /// `-XX:MaxDirectMemorySize`, which the JVM sets to the maximum heap size by default.
    static Allocator offHeap() {
        return nbytes -> Allocation.collected(Arena.ofAuto().allocate(nbytes, Storage.ALIGNMENT));
    }
}
