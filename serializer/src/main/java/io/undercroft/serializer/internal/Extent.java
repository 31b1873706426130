package io.undercroft.serializer.internal;

import io.undercroft.format.ExtentSums;
import io.undercroft.format.IndexBuilder;

/// A run of bytes of a storage as it went to the file.
sealed interface Extent {
    /// Adds the extent to the storage that comes next in the index.
    void addTo(IndexBuilder index);

    /// Bytes that stand in the file.
    record Raw(long fileOffset, long length, ExtentSums sums) implements Extent {
        @Override
        public void addTo(IndexBuilder index) {
            index.addRawExtent(fileOffset, length, sums);
        }
    }

    /// Zeros that take no room.
    record Zero(long length) implements Extent {
        @Override
        public void addTo(IndexBuilder index) {
            index.addZeroExtent(length);
        }
    }
}
