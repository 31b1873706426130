package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.ExtentSums;

/// A run of bytes of a storage, as an index will have it.
public sealed interface Extent {
    /// Bytes that are in a file.
    ///
    /// @param place where
    /// @param sums over all of them
    record Stored(Place place, ExtentSums sums) implements Extent {}

    /// Zeros that take no space.
    ///
    /// @param length how many, in bytes
    record Zero(long length) implements Extent {}
}
