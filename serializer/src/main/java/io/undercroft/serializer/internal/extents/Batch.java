package io.undercroft.serializer.internal.extents;

import java.util.List;

/// Chunks that share a block of memory and are written to the file in one write.
///
/// @param number its number, from 0, in the order of the file
/// @param chunks at least one
/// @param start the offset of the first chunk in the block, in bytes
record Batch(long number, List<Chunk> chunks, long start) {
    /// {@return the size of all chunks in bytes}
    long nbytes() {
        return chunks.stream().mapToLong(Chunk::length).sum();
    }
}
