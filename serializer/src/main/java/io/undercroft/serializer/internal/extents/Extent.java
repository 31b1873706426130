package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.ExtentSums;

/// A run of bytes of a storage, for a record of the index.
public sealed interface Extent {
    /// Bytes that are in a file.
    ///
    /// @param place the place
    /// @param sums over all of them
    record Stored(Place place, ExtentSums sums) implements Extent {}

    /// Zeros that take no space.
    ///
    /// @param length the number of bytes
    record Zero(long length) implements Extent {}
}
