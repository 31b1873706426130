package io.undercroft.cli.internal.dedup;

import io.undercroft.format.Digest128;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.analysis.LastLoan;
import io.undercroft.serializer.analysis.Sizes;
import io.undercroft.serializer.analysis.StorageChunks;
import io.undercroft.storage.Storage;
import java.util.List;
import java.util.function.LongConsumer;

/// The distinct bytes of the storages of several files, as one `.croft` file would store them: in chunks, equal chunks
/// once, and no chunks of zeros. Chunks with equal digests count as equal. The storages of a `.croft` file with the
/// digests of such chunks are not read. For use by one thread.
public final class UniqueBytes {
    private final DigestSet chunks = new DigestSet();
    private final LongConsumer progress;
    private long done;

    /// Starts with no files.
    ///
    /// @param progress called with the number of bytes of storages that were counted so far
    public UniqueBytes(LongConsumer progress) {
        this.progress = progress;
    }

    /// Adds a file.
    ///
    /// @param checkpoint the open file
    /// @return the number of bytes of its storages that no file added before has; at most 2^63-1
    /// @throws io.undercroft.format.FormatException if it is damaged
    public long add(Checkpoint checkpoint) {
        long unique = 0;
        try (LastLoan loan = new LastLoan()) {
            for (Storage storage : checkpoint.storages()) {
                unique = Sizes.sum(unique, storage.isMeta() ? 0 : add(storage, checkpoint.extents(storage), loan));
            }
        }
        return unique;
    }

    private long add(Storage storage, List<Extent> extents, LastLoan loan) {
        long[] unique = new long[1];
        StorageChunks.forEach(storage, extents, loan, new StorageChunks.Visitor() {
            @Override
            public void chunk(Digest128 digest, long length) {
                unique[0] += chunks.add(digest) ? length : 0;
                advance(length);
            }

            @Override
            public void zeros(long length) {
                advance(length);
            }
        });
        return unique[0];
    }

    private void advance(long nbytes) {
        done = Sizes.sum(done, nbytes);
        progress.accept(done);
    }
}
