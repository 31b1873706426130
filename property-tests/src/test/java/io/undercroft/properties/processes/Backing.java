package io.undercroft.properties.processes;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;

/// Where the bytes of a storage come from, and so how they go.
enum Backing {
    /// Off the heap, given back by the garbage collector.
    COLLECTED(4096) {
        @Override
        Allocation allocate(long nbytes, Path directory) {
            return Allocator.offHeap().allocate(nbytes);
        }
    },
    /// An arena that is closed with the last reference, whoever may be reading.
    ARENA(4096) {
        @Override
        Allocation allocate(long nbytes, Path directory) {
            Arena arena = Arena.ofShared();
            return new Allocation(arena.allocate(nbytes, Storage.ALIGNMENT), Allocation.Sharing.PRIVATE, null,
                    arena::close);
        }
    },
    /// Pages of the system, unmapped with the last reference.
    ANONYMOUS(1 << 20) {
        @Override
        Allocation allocate(long nbytes, Path directory) {
            return AnonymousMemory.allocator().allocate(nbytes);
        }
    },
    /// A file that others may map too, unmapped with the last reference.
    MAPPED_FILE(4096) {
        @Override
        Allocation allocate(long nbytes, Path directory) {
            try {
                Path path = Files.createTempFile(directory, "mapped", "");
                Files.write(path, new byte[Math.toIntExact(nbytes)]);
                try (MappedFile file = MappedFile.open(path, MapMode.SHARED)) {
                    Files.delete(path);
                    return file.allocation(0, nbytes);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    },
    /// A segment that other processes may attach, unmapped and unlinked with the last reference.
    SHARED_MEMORY(4096) {
        @Override
        Allocation allocate(long nbytes, Path directory) {
            return SharedMemory.allocator().allocate(nbytes);
        }
    };

    private final int usualSize;

    Backing(int usualSize) {
        this.usualSize = usualSize;
    }

    /// {@return a size that shows what is particular to this backing, in bytes}
    int usualSize() {
        return usualSize;
    }

    /// {@return fresh bytes, all zero}
    ///
    /// @param nbytes how many
    /// @param directory where files may be put
    abstract Allocation allocate(long nbytes, Path directory);
}
