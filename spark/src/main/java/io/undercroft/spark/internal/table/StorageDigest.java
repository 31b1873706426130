package io.undercroft.spark.internal.table;

import io.undercroft.format.Digest128;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.analysis.LastLoan;
import io.undercroft.serializer.analysis.StorageChunks;
import io.undercroft.storage.Storage;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.List;

/// Computes one digest for all bytes of a storage: that of its only chunk, or else that of a list with the digest and
/// the length of each chunk. Runs of zeros are entries with a digest of zero.
final class StorageDigest implements StorageChunks.Visitor {
    private final ByteArrayOutputStream list = new ByteArrayOutputStream();
    private Digest128 last = Digest128.ZERO;
    private long zeros;
    private int chunks;

    private StorageDigest() {}

    /// {@return the digest of a storage}
    ///
    /// @param storage the storage
    /// @param extents its extents
    /// @param loan borrows its bytes, if the file does not have the digests of its chunks
    static Digest128 of(Storage storage, List<Extent> extents, LastLoan loan) {
        StorageDigest digest = new StorageDigest();
        StorageChunks.forEach(storage, extents, loan, digest);
        return digest.end();
    }

    @Override
    public void chunk(Digest128 digest, long length) {
        endZeros();
        add(digest, length);
    }

    @Override
    public void zeros(long length) {
        zeros += length;
    }

    private void endZeros() {
        if (zeros > 0) {
            long length = zeros;
            zeros = 0;
            add(Digest128.ZERO, length);
        }
    }

    private void add(Digest128 digest, long length) {
        last = digest;
        chunks++;
        list.writeBytes(ByteBuffer.allocate(3 * Long.BYTES).putLong(digest.high()).putLong(digest.low())
                .putLong(length).array());
    }

    private Digest128 end() {
        endZeros();
        boolean isOne = chunks == 1 && !last.equals(Digest128.ZERO);
        return isOne ? last : Digest128.of(MemorySegment.ofArray(list.toByteArray()));
    }
}
