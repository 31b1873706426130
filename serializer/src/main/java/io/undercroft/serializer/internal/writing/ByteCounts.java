package io.undercroft.serializer.internal.writing;

import io.undercroft.serializer.DedupReport;

/// Counts what becomes of the bytes of storages.
final class ByteCounts {
    private long unreached;
    private long zeros;
    private long sharedStorages;
    private long sharedChunks;
    private long written;

    void addUnreached(long bytes) {
        unreached += bytes;
    }

    void addZeros(long bytes) {
        zeros += bytes;
    }

    void addSharedStorage(long bytes) {
        sharedStorages += bytes;
    }

    void addSharedChunks(long bytes) {
        sharedChunks += bytes;
    }

    void addWritten(long bytes) {
        written += bytes;
    }

    long written() {
        return written;
    }

    DedupReport report(long identity, long index) {
        return new DedupReport(unreached + zeros + sharedStorages + sharedChunks + written, identity, unreached, zeros,
                sharedStorages, sharedChunks, written, index);
    }
}
