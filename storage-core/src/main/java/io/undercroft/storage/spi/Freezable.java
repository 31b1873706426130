package io.undercroft.storage.spi;

import io.undercroft.storage.Allocation;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/// Memory whose current bytes can be kept for a reader without a copy, while its storage is still written.
/// Found as the [origin][io.undercroft.storage.Storage#origin] of a storage; of a slice, it is all of its base.
/// Instances are safe for use by several threads.
public interface Freezable extends Allocation.Origin {
    /// Keeps the bytes as they are now. They must not be written until this returns: such writes may be lost, or be in
    /// the image. Afterwards the storage is used as before; its first write to each page takes longer,
    /// as the page is copied.
    ///
    /// @return the bytes of the whole allocation; nothing if an earlier image is still open, or the system refuses, and
    ///     the bytes have to be copied
    /// @throws IllegalStateException if the allocation was freed
    Optional<Image> freeze();

    /// Bytes as they were when they were frozen. They stay until the image is closed, also if the storage is freed
    /// before.
    interface Image extends AutoCloseable {
        /// {@return the bytes, read-only, until the image is closed}
        MemorySegment segment();

        /// Gives the bytes back. The second and later calls do nothing.
        @Override
        void close();
    }
}
