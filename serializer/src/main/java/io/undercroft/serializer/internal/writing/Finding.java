package io.undercroft.serializer.internal.writing;

import io.undercroft.format.ExtentSums;

/// What is known of a chunk before it is decided where its bytes stand.
sealed interface Finding {
    /// Nothing reaches it.
    record Unreached() implements Finding {}

    /// It is all zero, and zeros take no room.
    record Zeros() implements Finding {}

    /// The snapshot before has the same bytes in its place.
    ///
    /// @param stored where
    record Unchanged(Extent.Stored stored) implements Finding {}

    /// Its bytes were copied into the block.
    ///
    /// @param at where in the block
    /// @param sums over the copy
    record Copied(long at, ExtentSums sums) implements Finding {}

    /// It is larger than the block, and has not been looked at any further.
    record TooLarge() implements Finding {}
}
