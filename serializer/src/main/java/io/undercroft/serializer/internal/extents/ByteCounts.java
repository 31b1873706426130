package io.undercroft.serializer.internal.extents;

import io.undercroft.serializer.DedupReport;

/// Counts the bytes of storages that are written, reused and skipped.
public final class ByteCounts {
    long unreached;
    long zeros;
    long sharedStorages;
    long sharedChunks;
    long written;

    public DedupReport report(long identity, long index) {
        return new DedupReport(unreached + zeros + sharedStorages + sharedChunks + written, identity, unreached, zeros,
                sharedStorages, sharedChunks, written, index);
    }
}
