package io.undercroft.cli.internal.dedup;

import io.undercroft.format.Digest128;
import java.util.SplittableRandom;

/// A set of digests of 16 bytes each, in one array: terabytes of storages have millions of chunks. For use by one
/// thread.
final class DigestSet {
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
