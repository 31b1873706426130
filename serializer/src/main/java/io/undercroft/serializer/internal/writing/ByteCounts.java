package io.undercroft.serializer.internal.writing;

import io.undercroft.serializer.DedupReport;

/// Counts what becomes of the bytes of storages.
final class ByteCounts {
    long unreached;
    long zeros;
    long sharedStorages;
    long sharedChunks;
    long written;

    DedupReport report(long identity, long index) {
        return new DedupReport(unreached + zeros + sharedStorages + sharedChunks + written, identity, unreached, zeros,
                sharedStorages, sharedChunks, written, index);
    }
}
