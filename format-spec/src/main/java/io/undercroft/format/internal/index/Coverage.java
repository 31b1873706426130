package io.undercroft.format.internal.index;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.Rule;
import java.io.IOException;
import java.util.List;

/// The ranges of a file that the snapshots of a chain use, sorted by offset: the bytes of their extents, which may
/// overlap each other, and ranges that no extent may overlap: indexes, parent records, the commit slots, and the ranges
/// that the newest snapshot declares free.
///
/// This needs 8 bytes of memory for each range.
public final class Coverage {
    private final RunTable runs;
    private final int ownFile;
    private final Index newest;
    private final List<CommitRecord> chain;
    private final int firstFree;
    private final int firstCommit;
    private final Header header;
    /// The item of the commit slots, which a file of one snapshot has not.
    private final int slots;
    private final int[] sorted;

    /// The action for bytes that no range covers.
    public interface Gap {
        /// Takes a range, which may be empty.
        ///
        /// @param from its first byte
        /// @param to the byte after its last one
        /// @throws IOException if reading fails
        void take(long from, long to) throws IOException;
    }

    /// Sorts the ranges of a chain.
    ///
    /// @param runs the extents of all its snapshots
    /// @param ownFile the number of the file itself in `runs`
    /// @param newest the index of the newest snapshot, whose free ranges were checked
    /// @param chain the commits, the newest first
    /// @param header the header of the file
    public Coverage(RunTable runs, int ownFile, Index newest, List<CommitRecord> chain, Header header) {
        this.runs = runs;
        this.ownFile = ownFile;
        this.newest = newest;
        this.chain = chain;
        this.firstFree = runs.count();
        this.firstCommit = Math.addExact(firstFree, (int) newest.count(SectionType.FREE));
        this.header = header;
        this.slots = Math.addExact(firstCommit, chain.size());
        boolean hasSlots = chain.getFirst().sequence() > 1;
        this.sorted = IndexSort.sorted(hasSlots ? Math.addExact(slots, 1) : slots,
                (left, right) -> Long.compare(start(left), start(right)));
    }

    /// Walks the file.
    ///
    /// @param from the offset of its data
    /// @param gap is given what nothing covers, in order
    /// @throws io.undercroft.format.FormatException by rule V2 if an extent touches what it must not, or two such
    ///     ranges each other
    /// @throws IOException if `gap` fails
    public void walk(long from, Gap gap) throws IOException {
        long end = from;
        long firm = from;
        for (int item : sorted) {
            if (isElsewhere(item)) {
                continue;
            }
            boolean isFirm = item >= firstFree;
            if (start(item) < (isFirm ? end : firm)) {
                throw Rule.V2_RANGE.broken(
                        "an index, a parent record, a commit slot or a free range has bytes in common with an extent "
                                + "or "
                                + "with another one",
                        start(item));
            }
            gap.take(end, Math.max(end, start(item)));
            end = Math.max(end, end(item));
            firm = isFirm ? end(item) : firm;
        }
        gap.take(end, chain.getFirst().committedLength());
    }

    private boolean isElsewhere(int item) {
        return item < firstFree && runs.file(item) != ownFile;
    }

    private long start(int item) {
        if (item < firstFree) {
            return runs.offset(item);
        }
        if (item == slots) {
            return header.slots();
        }
        return item < firstCommit ? free(item).offset() : chain.get(item - firstCommit).ownOffset();
    }

    private long end(int item) {
        if (item < firstFree) {
            return runs.offset(item) + runs.length(item);
        }
        if (item < firstCommit) {
            return free(item).offset() + free(item).length();
        }
        if (item == slots) {
            return header.slotsEnd();
        }
        CommitRecord commit = chain.get(item - firstCommit);
        return commit.indexOffset() + commit.indexLength();
    }

    private FreeRange free(int item) {
        return newest.freeRange(item - firstFree);
    }
}
