package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.ExtentSums;
import java.lang.foreign.MemorySegment;

/// What is known of a chunk before it is decided where its bytes are.
sealed interface ChunkOutcome {
    /// Nothing reaches it.
    record Unreached() implements ChunkOutcome {}

    /// It is all zero, and zeros take no space.
    record Zeros() implements ChunkOutcome {}

    /// The snapshot before has the same bytes in its place.
    ///
    /// @param stored where
    /// @param bytes its bytes
    record Unchanged(Extent.Stored stored, MemorySegment bytes) implements ChunkOutcome {}

    /// Its bytes were copied into the block.
    ///
    /// @param at where in the block
    /// @param sums over the copy
    record Copied(long at, ExtentSums sums) implements ChunkOutcome {}
}
