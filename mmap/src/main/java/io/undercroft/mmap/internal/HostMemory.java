package io.undercroft.mmap.internal;

import io.undercroft.mmap.MappingException;
import io.undercroft.mmap.Pages;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.spi.MemoryProvider;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/// The provider of large memory for [Allocator#offHeap], of shared memory for
/// [io.undercroft.storage.Storage#shareMemory], and of the exception for mapped bytes that were truncated.
public final class HostMemory implements MemoryProvider {
    /// For [java.util.ServiceLoader].
    public HostMemory() {}

    @Override
    public Optional<MemorySegment> collected(long nbytes) {
        return Libc.find().flatMap(
                libc -> CollectedMemory.OF_THIS_PROCESS.map(memory -> memory.allocate(libc, nbytes)));
    }

    @Override
    public Optional<Allocator> shared() {
        return Libc.find().map(_ -> SharedMemory.allocator());
    }

    @Override
    public Optional<RuntimeException> lost(MemorySegment segment) {
        try {
            Pages.probe(segment);
            return Optional.empty();
        } catch (MappingException e) {
            return Optional.of(e);
        }
    }
}
