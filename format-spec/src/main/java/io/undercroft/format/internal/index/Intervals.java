package io.undercroft.format.internal.index;

import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.index.Records.Extn;

/// The ranges of files that an index accounts for, sorted by file and place: its extents but for those of zeros, the
/// free ranges, and itself with its parent record.
///
/// Takes 8 bytes of memory an extent.
public final class Intervals {
    private final Index index;
    private final CommitRecord commit;
    private final int extents;
    private final int count;
    private final int[] sorted;

    /// Sorts the ranges of an index.
    ///
    /// @param index the index, whose records were checked one by one
    /// @param commit the record that points to it
    public Intervals(Index index, CommitRecord commit) {
        this.index = index;
        this.commit = commit;
        this.extents = (int) index.count(SectionType.EXTN);
        this.count = Math.addExact(Math.addExact(extents, (int) index.count(SectionType.FREE)), 1);
        this.sorted = IndexSort.sorted(count, this::compare);
    }

    /// Checks that ranges either have no byte in common or are the same bytes, flagged so.
    public void check() {
        int first = 0;
        for (int rank = 1; rank <= count; rank++) {
            if (rank == count || compare(sorted[first], sorted[rank]) != 0) {
                checkSame(first, rank);
                first = rank;
            }
        }
        for (int rank = 1; rank < count; rank++) {
            boolean same = compare(sorted[rank - 1], sorted[rank]) == 0;
            if (!same && base(sorted[rank - 1]) == base(sorted[rank]) && offset(sorted[rank]) < end(sorted[rank - 1])) {
                throw Rule.V2_RANGE.broken("two extents, or an extent and the index or a free range, overlap",
                        offset(sorted[rank]));
            }
        }
    }

    /// Checks the ranges from one rank to before another, all of the same place.
    private void checkSame(int from, int to) {
        if (length(sorted[from]) == 0) {
            return;
        }
        boolean shared = to - from > 1;
        for (int rank = from; rank < to; rank++) {
            int item = sorted[rank];
            boolean isExtent = item < extents;
            if (shared && (!isExtent || !index.extent(sorted[from]).sums().equals(index.extent(item).sums()))) {
                throw Rule.V2_RANGE.broken("two extents, or an extent and the index or a free range, are the same "
                        + "bytes and may not be", offset(item));
            }
            if (isExtent && index.isShared(item) != shared) {
                throw Rule.V2_RANGE.broken(
                        shared
                                ? "an extent is not flagged as shared, and is"
                                : "an extent is flagged as shared, and is not",
                        index.fileOffset(SectionType.EXTN, item) + Extn.FLAGS.offset());
            }
        }
    }

    private int compare(int left, int right) {
        int order = Integer.compare(base(left), base(right));
        order = order != 0 ? order : Long.compare(offset(left), offset(right));
        return order != 0 ? order : Long.compare(length(left), length(right));
    }

    private long end(int item) {
        return offset(item) + length(item);
    }

    private int base(int item) {
        return item < extents ? (int) index.get(SectionType.EXTN, item, Extn.BASE) : ExtentRecord.THIS_FILE;
    }

    private long offset(int item) {
        if (item < extents) {
            return index.get(SectionType.EXTN, item, Extn.OFFSET);
        }
        return item < count - 1 ? free(item).offset() : commit.ownOffset();
    }

    private long length(int item) {
        if (item < extents) {
            return index.storedLength(item);
        }
        return item < count - 1
                ? free(item).length()
                : commit.indexOffset() + commit.indexLength() - commit.ownOffset();
    }

    private FreeRange free(int item) {
        return index.freeRange(item - extents);
    }
}
