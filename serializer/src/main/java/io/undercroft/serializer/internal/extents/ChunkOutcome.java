package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.ExtentSums;
import java.lang.foreign.MemorySegment;

/// The result of looking for the bytes of a chunk, before its place is decided.
sealed interface ChunkOutcome {
    /// No tensor uses it.
    record Unreached() implements ChunkOutcome {}

    /// It is all zero, and zeros take no space.
    record Zeros() implements ChunkOutcome {}

    /// The snapshot before has the same bytes at this position.
    ///
    /// @param stored the place of its bytes
    /// @param bytes its bytes
    record Unchanged(Extent.Stored stored, MemorySegment bytes) implements ChunkOutcome {}

    /// Its bytes were copied into the block.
    ///
    /// @param at the offset in the block
    /// @param sums over the copy
    record Copied(long at, ExtentSums sums) implements ChunkOutcome {}
}
