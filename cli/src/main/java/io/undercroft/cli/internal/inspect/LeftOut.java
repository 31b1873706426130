package io.undercroft.cli.internal.inspect;

import io.undercroft.serializer.Extent;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/// The ranges of the file with the storages that a page does not list. Short gaps between them are included.
final class LeftOut {
    private static final int MOST = 10_000;

    private List<long[]> ranges = new ArrayList<>();
    private long shortest = 64;

    /// Adds the bytes of a storage.
    ///
    /// @param extents its extents
    void add(List<Extent> extents) {
        for (Extent extent : extents) {
            if (extent.place() == Extent.Place.FILE) {
                ranges.add(new long[]{extent.offset(), extent.offset() + extent.stored()});
            }
        }
        if (ranges.size() > 2 * MOST) {
            merge();
        }
    }

    /// {@return at most 10 000 pairs of the first byte and the byte after the last, in ascending order}
    List<long[]> ranges() {
        merge();
        return ranges;
    }

    /// Only gaps longer than the minimum remain. The minimum is doubled until few gaps remain, and only then: otherwise
    /// it would close all gaps of a file of very many storages, and overflow.
    private void merge() {
        ranges.sort(Comparator.comparingLong(range -> range[0]));
        closeGaps();
        while (ranges.size() > MOST) {
            shortest *= 2;
            closeGaps();
        }
    }

    private void closeGaps() {
        List<long[]> merged = new ArrayList<>();
        for (long[] range : ranges) {
            if (!merged.isEmpty() && range[0] - merged.getLast()[1] <= shortest) {
                merged.getLast()[1] = Math.max(merged.getLast()[1], range[1]);
            } else {
                merged.add(range);
            }
        }
        ranges = merged;
    }
}
