package io.undercroft.serializer.internal.extents;

import io.undercroft.serializer.DedupReport;

/// Counts what becomes of the bytes of storages.
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
