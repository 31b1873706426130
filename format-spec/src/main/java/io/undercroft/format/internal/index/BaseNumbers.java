package io.undercroft.format.internal.index;

import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/// The numbers that bases get when those are left out that no record names: from 1 on, in their order.
public final class BaseNumbers {
    private final BitSet named;

    /// Numbers for bases.
    ///
    /// @param named the old numbers, from 1 on, of those that a record names; 0 stands for this file
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

    /// Renumbers the bases in the records of a section.
    ///
    /// @param records the section
    /// @param recordSize the size of a record in bytes
    /// @param base the field with the number of a base
    public void apply(MemorySegment records, int recordSize, Field base) {
        if (count() == named.length()) {
            return;
        }
        int[] numbers = new int[named.length() + 1];
        int count = 0;
        for (int number : kept()) {
            numbers[number + 1] = ++count;
        }
        for (long at = 0; at < records.byteSize(); at += recordSize) {
            base.put(records, at, numbers[base.getInt(records, at)]);
        }
    }
}
