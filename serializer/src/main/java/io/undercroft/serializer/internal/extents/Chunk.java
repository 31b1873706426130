package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.ExtentSums;
import io.undercroft.serializer.internal.planning.PlannedStorage;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// A run of bytes of a storage that is compared, shared and written as one.
///
/// @param storage the storage
/// @param start its first byte in the storage
/// @param length the number of bytes
/// @param content whether it is worth saving
/// @param before the chunk at the same position in the snapshot before, in the file itself; null if there is none
/// @param alignment the alignment of its offset in the file
record Chunk(PlannedStorage storage, long start, long length, Content content, Extent.@Nullable Stored before,
        long alignment) {
    /// What is known of the bytes of a chunk before they are read.
    enum Content {
        /// Tensors use some of them.
        REACHED,
        /// Nothing that is not known to be zero is used.
        ZEROS,
        /// No tensor uses them.
        UNREACHED
    }

    /// {@return whether it has to be read}
    boolean isReached() {
        return content == Content.REACHED;
    }

    /// {@return its bytes: in place, or a copy in the buffer if they are on a device}
    ///
    /// @param buffer memory of the host, of the size of the chunk if it is on a device
    /// @throws IllegalStateException if the storage is closed, or was resized since the save was planned
    MemorySegment bytes(MemorySegment buffer) {
        return storage.slice(start, length, buffer);
    }

    /// {@return whether its bytes are on a device}
    boolean isOnDevice() {
        return storage.bytes().areOnDevice();
    }

    /// {@return whether its bytes can be read until the save ends, in place}
    boolean staysInMemory() {
        return !storage.bytes().areOnDevice() && !storage.bytes().areDecoded();
    }

    /// Compares it with the checksums of its source file, as it is now.
    void check() {
        storage.check(start, start + length);
    }

    /// Compares what was read of it with the checksums of its source file.
    ///
    /// @param sums the sums over what was read
    void check(ExtentSums sums) {
        storage.check(start, start + length, sums.checksum());
    }

    /// {@return the first offset at or after a position at which it may start}
    long place(long position) {
        return Math.addExact(position, alignment - 1) & -alignment;
    }

    boolean isFirst() {
        return start == 0;
    }

    boolean isLast() {
        return start + length == storage.nbytes();
    }
}
