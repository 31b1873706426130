package io.undercroft.mmap.internal;

import io.undercroft.mmap.SharedMemory;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.spi.MemoryProvider;
import java.util.Optional;

/// Shared memory for [io.undercroft.storage.Storage#shareMemory], wherever there is any.
public final class HostMemory implements MemoryProvider {
    /// For [java.util.ServiceLoader].
    public HostMemory() {}

    @Override
    public Optional<Allocator> shared() {
        return Libc.find().map(_ -> SharedMemory.allocator());
    }
}
