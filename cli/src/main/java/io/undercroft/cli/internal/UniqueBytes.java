package io.undercroft.cli.internal;

import io.undercroft.format.Digest128;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.internal.analysis.CodingEstimate;
import io.undercroft.serializer.internal.analysis.LastBorrowed;
import io.undercroft.serializer.internal.analysis.Sizes;
import io.undercroft.serializer.internal.analysis.StorageChunks;
import io.undercroft.storage.Storage;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.LongConsumer;

/// The distinct bytes of the storages of several files, as one `.croft` file would store them: in chunks, equal chunks
/// once, and no chunks of zeros. Chunks with equal digests count as equal. The storages of a `.croft` file with the
/// digests of such chunks are not read, except for a sample that is compressed. For use by one thread.
public final class UniqueBytes {
    private final DigestSet chunks = new DigestSet();
    private final CodingEstimate coding;
    private final LongConsumer progress;
    private long done;

    /// Starts with no files.
    ///
    /// @param coding estimates in how many bytes they can be compressed
    /// @param progress called with the number of bytes of storages that were counted so far
    public UniqueBytes(CodingEstimate coding, LongConsumer progress) {
        this.coding = coding;
        this.progress = progress;
    }

    /// Adds a file.
    ///
    /// @param checkpoint the open file, of which the estimate was started
    /// @return the number of bytes of its storages that no file added before has; at most 2^63-1
    /// @throws io.undercroft.format.FormatException if it is damaged
    public long add(Checkpoint checkpoint) {
        long unique = 0;
        try (LastBorrowed borrowed = new LastBorrowed()) {
            for (Storage storage : checkpoint.storages()) {
                unique = Sizes.sum(unique, storage.isMeta() ? 0 : add(storage, checkpoint.extents(storage), borrowed));
            }
        }
        return unique;
    }

    private long add(Storage storage, List<Extent> extents, LastBorrowed borrowed) {
        long[] unique = new long[1];
        long[] start = new long[1];
        StorageChunks.forEach(storage, extents, borrowed, new StorageChunks.Visitor() {
            @Override
            public void chunk(Digest128 digest, long length) {
                if (chunks.add(digest)) {
                    unique[0] += length;
                    coding.add(start[0], length);
                }
                start[0] += length;
                advance(length);
            }

            @Override
            public void zeros(long length) {
                start[0] += length;
                advance(length);
            }
        });
        coding.finish(storage, extents, borrowed);
        return unique[0];
    }

    private void advance(long nbytes) {
        done = Sizes.sum(done, nbytes);
        progress.accept(done);
    }

    /// A set of digests of 16 bytes each, in one array: terabytes of storages have millions of chunks. For use by one
    /// thread.
    static final class DigestSet {
        private static final int INITIAL_SLOTS = 1 << 10;

        /// Random factors, since the digests are taken from files, which could be made so that all fall into one slot.
        private final long highFactor;
        private final long lowFactor;
        /// Two numbers for each slot. An empty slot has two zeros, so the digest of two zeros is not stored here.
        private long[] slots = new long[2 * INITIAL_SLOTS];
        private int size;
        private boolean hasZero;

        DigestSet() {
            SplittableRandom random = new SplittableRandom();
            highFactor = random.nextLong() | 1;
            lowFactor = random.nextLong() | 1;
        }

        /// Adds a digest.
        ///
        /// @return whether it was not in the set before
        boolean add(Digest128 digest) {
            if (digest.equals(Digest128.ZERO)) {
                boolean isNew = !hasZero;
                hasZero = true;
                return isNew;
            }
            boolean isNew = put(slots, digest.high(), digest.low());
            if (isNew && ++size > slots.length / 4) {
                grow();
            }
            return isNew;
        }

        private boolean put(long[] into, long high, long low) {
            int slotCount = into.length / 2;
            long hash = high * highFactor + low * lowFactor;
            int slot = (int) (hash >>> (Long.SIZE - Integer.numberOfTrailingZeros(slotCount)));
            while ((into[2 * slot] | into[2 * slot + 1]) != 0) {
                if (into[2 * slot] == high && into[2 * slot + 1] == low) {
                    return false;
                }
                slot = (slot + 1) & (slotCount - 1);
            }
            into[2 * slot] = high;
            into[2 * slot + 1] = low;
            return true;
        }

        private void grow() {
            long[] grown = new long[Math.multiplyExact(slots.length, 2)];
            for (int i = 0; i < slots.length; i += 2) {
                if ((slots[i] | slots[i + 1]) != 0) {
                    put(grown, slots[i], slots[i + 1]);
                }
            }
            slots = grown;
        }
    }
}
