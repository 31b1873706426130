package io.undercroft.format.internal.index;

import io.undercroft.format.internal.index.Records.ExtentFields;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/// The numbers that bases get when those are left out that no extent names: from 1 on, in their order.
public final class BaseNumbers {
    private final BitSet named;

    /// Numbers for bases.
    ///
    /// @param named the old numbers, from 1 on, of those that an extent names; 0 stands for this file
    public BaseNumbers(BitSet named) {
        this.named = named.get(1, Math.max(1, named.length()));
    }

    /// {@return the number of bases that are left}
    public int count() {
        return named.cardinality();
    }

    /// {@return the old numbers of those that are left, counted from 0}
    public int[] kept() {
        return named.stream().toArray();
    }

    /// Renumbers the bases of extents.
    ///
    /// @param extents the section EXTN
    /// @param recordSize the size of a record in bytes
    public void apply(MemorySegment extents, int recordSize) {
        if (count() == named.length()) {
            return;
        }
        int[] numbers = new int[named.length() + 1];
        int count = 0;
        for (int base : kept()) {
            numbers[base + 1] = ++count;
        }
        for (long at = 0; at < extents.byteSize(); at += recordSize) {
            ExtentFields.BASE.put(extents, at, numbers[ExtentFields.BASE.getInt(extents, at)]);
        }
    }
}
