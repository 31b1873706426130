package io.undercroft.format.internal;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/// The ranges of a file that the snapshots of a chain account for, sorted by place: the bytes of their extents, which
/// may overlap each other, and what no extent may touch: indexes, parent records, the commit slots, and what the
/// newest snapshot declares free.
final class Coverage {
    private final List<Range> ranges = new ArrayList<>();
    private final long committedLength;

    /// @param isExtent whether other extents may have the same bytes
    private record Range(long start, long end, boolean isExtent) {}

    /// What is done with bytes that nothing covers.
    interface Gap {
        /// Takes a range, which may be empty.
        ///
        /// @param from its first byte
        /// @param to the byte after its last one
        /// @throws IOException if reading fails
        void take(long from, long to) throws IOException;
    }

    /// Sorts the ranges of a chain.
    ///
    /// @param extents the bytes of this file that are in extents of all snapshots
    /// @param newest the newest snapshot
    /// @param chain the commits, the newest first
    Coverage(Stream<VerifiedRuns.Run> extents, Snapshot newest, List<CommitRecord> chain) {
        extents.forEach(run -> ranges.add(new Range(run.offset(), run.offset() + run.length(), true)));
        for (int number = 0; number < newest.freeRangeCount(); number++) {
            FreeRange free = newest.freeRange(number);
            ranges.add(new Range(free.offset(), free.offset() + free.length(), false));
        }
        for (CommitRecord commit : chain) {
            ranges.add(new Range(commit.ownOffset(), commit.indexOffset() + commit.indexLength(), false));
        }
        if (chain.getFirst().sequence() > 1) {
            ranges.add(new Range(newest.header().slots(), newest.header().slotsEnd(), false));
        }
        ranges.sort(Comparator.comparingLong(Range::start));
        this.committedLength = chain.getFirst().committedLength();
    }

    /// Walks the file.
    ///
    /// @param from where its data start
    /// @param gap is given what nothing covers, in order
    /// @throws io.undercroft.format.FormatException by rule V2 if an extent touches what it must not, or two such
    ///     ranges each other
    /// @throws IOException if `gap` fails
    void walk(long from, Gap gap) throws IOException {
        long end = from;
        long endOfOthers = from;
        for (Range range : ranges) {
            if (range.start < (range.isExtent ? endOfOthers : end)) {
                throw Rule.V2_RANGE.broken("an index, a parent record, a commit slot or a free range has bytes in "
                        + "common with an extent or with another one", range.start);
            }
            gap.take(end, Math.max(end, range.start));
            end = Math.max(end, range.end);
            endOfOthers = range.isExtent ? endOfOthers : range.end;
        }
        gap.take(end, committedLength);
    }
}
