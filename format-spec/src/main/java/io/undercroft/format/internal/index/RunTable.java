package io.undercroft.format.internal.index;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.ExtentSums;
import java.util.Arrays;
import java.util.SplittableRandom;

/// Runs of bytes in files, each there once, with the sums that were found over their bytes. They are numbered from 0 in
/// the order in which they were added.
///
/// A hash table over flat arrays, since there may be many millions: takes 45 to 70 bytes of memory a run. For use by
/// one thread.
public final class RunTable {
    private static final int FIELDS = 5;
    private static final int OFFSET = 0;
    private static final int LENGTH = 1;
    private static final int DIGEST_HIGH = 2;
    private static final int DIGEST_LOW = 3;
    private static final int FILE_AND_CHECKSUM = 4;
    private static final int FIRST_SLOTS = 64;

    /// Unlike from run to run, so that no file can be made whose runs all fall into one place.
    private final long seed = new SplittableRandom().nextLong();
    private long[] runs = new long[FIELDS * FIRST_SLOTS / 2];
    /// Places for the numbers of runs plus one; 0 is a free place. A power of two, at most three quarters of it taken.
    private int[] slots = new int[FIRST_SLOTS];
    private int count;

    /// {@return the number of runs}
    public int count() {
        return count;
    }

    /// {@return the number of a run, or -1 if it was not added}
    ///
    /// @param file a number for the file that it is in
    /// @param offset its offset there
    /// @param length the number of bytes
    public int find(int file, long offset, long length) {
        for (int slot = slot(file, offset, length);; slot = (slot + 1) & (slots.length - 1)) {
            int run = slots[slot] - 1;
            if (run < 0 || (offset(run) == offset && length(run) == length && file(run) == file)) {
                return run;
            }
        }
    }

    /// Adds a run that is not there.
    ///
    /// @param file a number for the file that it is in
    /// @param offset its offset there
    /// @param length the number of bytes
    /// @param sums the sums of its bytes
    /// @return its number
    public int add(int file, long offset, long length, ExtentSums sums) {
        if (Math.multiplyExact(count + 1, FIELDS) > runs.length) {
            runs = Arrays.copyOf(runs, Math.addExact(runs.length, runs.length / 2));
        }
        int at = count * FIELDS;
        runs[at + OFFSET] = offset;
        runs[at + LENGTH] = length;
        runs[at + DIGEST_HIGH] = sums.digest().high();
        runs[at + DIGEST_LOW] = sums.digest().low();
        runs[at + FILE_AND_CHECKSUM] = (long) file << Integer.SIZE | Integer.toUnsignedLong(sums.checksum());
        count++;
        if (count > slots.length / 4 * 3) {
            spread();
        } else {
            enter(count - 1);
        }
        return count - 1;
    }

    private void spread() {
        slots = new int[Math.multiplyExact(slots.length, 2)];
        for (int run = 0; run < count; run++) {
            enter(run);
        }
    }

    private void enter(int run) {
        int slot = slot(file(run), offset(run), length(run));
        while (slots[slot] != 0) {
            slot = (slot + 1) & (slots.length - 1);
        }
        slots[slot] = run + 1;
    }

    private int slot(int file, long offset, long length) {
        return (int) mix(mix(mix(offset ^ seed) + length) + file) & (slots.length - 1);
    }

    /// Returns the last step of MurmurHash3, which loses no bit.
    private static long mix(long bits) {
        long mixed = (bits ^ bits >>> 33) * 0xFF51_AFD7_ED55_8CCDL;
        mixed = (mixed ^ mixed >>> 33) * 0xC4CE_B9FE_1A85_EC53L;
        return mixed ^ mixed >>> 33;
    }

    /// {@return the number of the file that a run is in}
    public int file(int run) {
        return (int) (runs[run * FIELDS + FILE_AND_CHECKSUM] >>> Integer.SIZE);
    }

    /// {@return the offset of a run in its file}
    public long offset(int run) {
        return runs[run * FIELDS + OFFSET];
    }

    /// {@return the number of bytes of a run}
    public long length(int run) {
        return runs[run * FIELDS + LENGTH];
    }

    /// {@return the sums that were found}
    public ExtentSums sums(int run) {
        return new ExtentSums((int) runs[run * FIELDS + FILE_AND_CHECKSUM],
                new Digest128(runs[run * FIELDS + DIGEST_HIGH], runs[run * FIELDS + DIGEST_LOW]));
    }
}
