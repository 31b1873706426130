package io.undercroft.cli.internal.dedup;

import io.undercroft.cli.internal.LastLoan;
import io.undercroft.cli.internal.Sizes;
import io.undercroft.format.Digest128;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.SaveRequest;
import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.Backing;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.function.LongConsumer;

/// The distinct bytes of the storages of several files, as one `.croft` file would store them: in chunks, equal chunks
/// once, and no chunks of zeros. Chunks with equal digests count as equal. The storages of a `.croft` file with the
/// digests of such chunks are not read. For use by one thread.
public final class UniqueBytes {
    private static final SaveRequest SAVING = SaveOptions.defaults().request();
    private static final long CHUNK = SAVING.chunkSize();
    private static final MemorySegment ZEROS = MemorySegment.ofArray(new byte[(int) CHUNK]);

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
        return areChunks(storage, extents) ? addExtents(extents) : addBytes(storage, loan);
    }

    /// Returns whether the file has the digest of each chunk.
    private static boolean areChunks(Storage storage, List<Extent> extents) {
        return storage.nbytes() > 0 && !extents.isEmpty()
                && extents.stream().allMatch(extent -> switch (extent.place()) {
                    case NOWHERE -> true;
                    case FILE, BASE -> extent.digest().isPresent() && extent.start() % CHUNK == 0
                            && extent.length() == Math.min(CHUNK, storage.nbytes() - extent.start());
                });
    }

    private long addExtents(List<Extent> extents) {
        long unique = 0;
        for (Extent extent : extents) {
            Optional<Digest128> digest = extent.digest();
            unique += digest.isPresent() ? add(digest.get(), extent.length()) : 0;
            advance(extent.length());
        }
        return unique;
    }

    private long addBytes(Storage storage, LastLoan loan) {
        long unique = 0;
        if (storage.nbytes() > 0) {
            Storage there = loan.of(storage).storage();
            MemorySegment bytes = there.segment();
            for (long at = 0; at < bytes.byteSize(); at += CHUNK) {
                MemorySegment chunk = bytes.asSlice(at, Math.min(CHUNK, bytes.byteSize() - at));
                boolean isNowhere = SAVING.omitsZeros(bytes.byteSize())
                        && chunk.mismatch(ZEROS.asSlice(0, chunk.byteSize())) < 0;
                unique += isNowhere ? 0 : add(Digest128.of(chunk), chunk.byteSize());
                advance(chunk.byteSize());
            }
            there.backing().ifPresent(Backing::checkNotCut);
        }
        return unique;
    }

    private long add(Digest128 digest, long length) {
        return chunks.add(digest) ? length : 0;
    }

    private void advance(long nbytes) {
        done = Sizes.sum(done, nbytes);
        progress.accept(done);
    }
}
