package io.undercroft.storage.internal.support;

import io.undercroft.storage.Allocation;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/// Memory of which an image can be taken without a copy, while its storage is still written. It is the
/// [origin][io.undercroft.storage.Storage#origin] of a storage; that of a slice is the memory of its base. Instances
/// are thread-safe.
public interface Freezable extends Allocation.Origin {
    /// Takes an image of the present bytes. They must not be written until this method returns: such writes may be lost
    /// or be in the image. After that the storage can be written; the first write to each page takes longer, as the
    /// page is copied.
    ///
    /// @return the image of the whole allocation; empty if an earlier image is still open or the system refuses, so
    ///     that the bytes must be copied
    /// @throws IllegalStateException if the allocation was freed
    Optional<Image> freeze();

    /// The bytes at the time when the image was taken. They are valid until the image is closed, also if the storage is
    /// freed before.
    interface Image extends AutoCloseable {
        /// {@return the bytes, read-only, until the image is closed}
        MemorySegment segment();

        /// Releases the bytes. The second and later calls do nothing.
        @Override
        void close();
    }
}
