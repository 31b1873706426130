package io.undercroft.format.internal.index;

import java.util.SplittableRandom;

/// The sizes and strides of tensors, as they will be in DIMS: those that several tensors have in common once.
///
/// A hash table of the places where the lists start: takes 16 to 32 bytes of memory a list. Belongs to one thread.
public final class DimTable {
    private static final int FIRST_SLOTS = 64;

    /// Unlike from run to run, so that no state can be made whose shapes all fall into one place.
    private final long seed = new SplittableRandom().nextLong();
    private final RecordTable records = new RecordTable(SectionType.DIMS.recordSize());
    /// Where lists start and how many numbers they have, two elements each; no numbers mark a free place. At most half
    /// of the places, of which there is a power of two, are taken.
    private long[] slots = new long[2 * FIRST_SLOTS];
    private int count;

    /// Adds the sizes and strides of a tensor, unless an earlier tensor of as many dimensions has the same.
    ///
    /// @param shape its sizes
    /// @param stride as many strides
    /// @return the number of the first size in DIMS; 0 if there is none
    public long add(long[] shape, long[] stride) {
        if (shape.length == 0) {
            return 0;
        }
        int slot = slot(shape, stride);
        if (slots[slot + 1] != 0) {
            return slots[slot];
        }
        long first = records.count();
        for (long size : shape) {
            RecordWriter.size(records.append(), size);
        }
        for (long step : stride) {
            RecordWriter.stride(records.append(), step);
        }
        slots[slot] = first;
        slots[slot + 1] = 2L * shape.length;
        count++;
        if (count > slots.length / 4) {
            spread();
        }
        return first;
    }

    /// {@return the records of DIMS}
    public RecordTable records() {
        return records;
    }

    /// The place of a list, or the free one where it belongs.
    private int slot(long[] shape, long[] stride) {
        long hash = seed;
        for (long size : shape) {
            hash = mix(hash ^ size);
        }
        for (long step : stride) {
            hash = mix(hash ^ step);
        }
        int slot = place(hash);
        while (slots[slot + 1] != 0 && !isAt(slots[slot], slots[slot + 1], shape, stride)) {
            slot = next(slot);
        }
        return slot;
    }

    private boolean isAt(long first, long length, long[] shape, long[] stride) {
        if (length != 2L * shape.length) {
            return false;
        }
        for (int dim = 0; dim < shape.length; dim++) {
            if (records.i64(first + dim, 0) != shape[dim]
                    || records.i64(first + shape.length + dim, 0) != stride[dim]) {
                return false;
            }
        }
        return true;
    }

    private void spread() {
        long[] before = slots;
        slots = new long[Math.multiplyExact(before.length, 2)];
        for (int from = 0; from < before.length; from += 2) {
            if (before[from + 1] != 0) {
                long hash = seed;
                for (long at = before[from]; at < before[from] + before[from + 1]; at++) {
                    hash = mix(hash ^ records.i64(at, 0));
                }
                int slot = place(hash);
                while (slots[slot + 1] != 0) {
                    slot = next(slot);
                }
                slots[slot] = before[from];
                slots[slot + 1] = before[from + 1];
            }
        }
    }

    private int place(long hash) {
        return 2 * (int) (hash & (slots.length / 2 - 1));
    }

    private int next(int slot) {
        return slot + 2 & slots.length - 1;
    }

    /// The last step of MurmurHash3, which loses no bit.
    private static long mix(long bits) {
        long mixed = (bits ^ bits >>> 33) * 0xFF51_AFD7_ED55_8CCDL;
        mixed = (mixed ^ mixed >>> 33) * 0xC4CE_B9FE_1A85_EC53L;
        return mixed ^ mixed >>> 33;
    }
}
