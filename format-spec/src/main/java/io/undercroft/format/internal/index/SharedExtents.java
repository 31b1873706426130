package io.undercroft.format.internal.index;

import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.index.Records.ExtentFields;
import java.lang.foreign.MemorySegment;

/// The extents of a table that are the same bytes as others.
///
/// Takes 8 bytes of memory an extent.
public final class SharedExtents {
    private final MemorySegment table;
    private final int recordSize;
    private final int[] sorted;
    private long expansion;

    private SharedExtents(MemorySegment table, int recordSize) {
        this.table = table;
        this.recordSize = recordSize;
        this.sorted = IndexSort.sorted((int) (table.byteSize() / recordSize), this::compare);
    }

    /// Flags those that are the same bytes as others, and no others.
    ///
    /// @param table the section EXTN, complete but for the flags
    /// @param recordSize the size of a record in bytes
    /// @throws IllegalArgumentException if the storages have so many bytes more than the file that readers would refuse
    ///     it
    public static void flag(MemorySegment table, int recordSize) {
        SharedExtents places = new SharedExtents(table, recordSize);
        places.flag();
        if (places.expansion > Limits.DEFAULT.maxExpansion()) {
            throw new IllegalArgumentException(
                    places.expansion + " bytes of zeros, of meta storages and of other places'"
                            + " bytes cannot be saved: readers accept " + Limits.DEFAULT.maxExpansion());
        }
    }

    private void flag() {
        int first = 0;
        for (int rank = 1; rank <= sorted.length; rank++) {
            if (rank == sorted.length || compare(sorted[first], sorted[rank]) != 0) {
                flag(first, rank);
                first = rank;
            }
        }
    }

    /// Flags the extents from one rank to before another, all of the same place.
    private void flag(int from, int to) {
        long kind = ExtentFields.KIND.get(table, at(sorted[from]));
        boolean stored = kind != ExtentKind.ZERO.code();
        for (int rank = from; rank < to; rank++) {
            long at = at(sorted[rank]);
            ExtentFields.FLAGS.put(table, at, stored && to - from > 1 ? Index.SHARED : 0);
            // The coded bytes, which are a part of the file, are left out of account.
            boolean counts = stored && kind != ExtentKind.CODED.code() && rank == from
                    && ExtentFields.BASE.get(table, at) == ExtentRecord.THIS_FILE;
            long more = counts ? 0 : ExtentFields.LENGTH.get(table, at);
            // Far beyond the limit it does not matter by how much.
            expansion = more > Long.MAX_VALUE - expansion ? Long.MAX_VALUE : expansion + more;
        }
    }

    private int compare(int left, int right) {
        long one = at(left);
        long other = at(right);
        int order = Long.compare(ExtentFields.BASE.get(table, one), ExtentFields.BASE.get(table, other));
        order = order != 0
                ? order
                : Long.compare(ExtentFields.OFFSET.get(table, one), ExtentFields.OFFSET.get(table, other));
        return order != 0
                ? order
                : Long.compare(ExtentFields.LENGTH.get(table, one), ExtentFields.LENGTH.get(table, other));
    }

    private long at(int extent) {
        return (long) extent * recordSize;
    }
}
