package io.undercroft.format.internal;

import io.undercroft.format.ExtentKind;
import java.util.Arrays;

/// The ranges of a file that an index accounts for: its RAW extents and itself.
///
/// Starts and ends are sorted apart. That is enough: as many ranges have begun as there are starts so far, and as many
/// are over as there are ends so far, so if every start comes after the end of the same rank less one, no two are open
/// at once.
public final class Intervals {
    private final long[] starts;
    private final long[] ends;

    private Intervals(long[] starts, long[] ends) {
        this.starts = starts;
        this.ends = ends;
    }

    /// {@return the ranges of an index whose extents are in range}
    public static Intervals of(Index index) {
        int extents = (int) index.count(SectionType.EXTN);
        long[] starts = new long[extents + 1];
        long[] ends = new long[extents + 1];
        int count = 0;
        for (int i = 0; i < extents; i++) {
            long at = index.at(SectionType.EXTN, i);
            if (Fields.u16(index.bytes(), at) == ExtentKind.RAW.code()) {
                starts[count] = Fields.i64(index.bytes(), at + 8);
                ends[count] = starts[count] + Fields.i64(index.bytes(), at + 16);
                count++;
            }
        }
        starts[count] = index.fileOffset();
        ends[count] = index.fileOffset() + index.bytes().byteSize();
        return new Intervals(sorted(starts, count + 1), sorted(ends, count + 1));
    }

    private static long[] sorted(long[] values, int count) {
        long[] sorted = count == values.length ? values : Arrays.copyOf(values, count);
        Arrays.sort(sorted);
        return sorted;
    }

    /// {@return how many ranges there are, at least 1}
    public int count() {
        return starts.length;
    }

    /// {@return where the range of this rank starts}
    public long start(int rank) {
        return starts[rank];
    }

    /// {@return where the range of this rank ends; the same range as [#start]'s only if none overlap}
    public long end(int rank) {
        return ends[rank];
    }

    /// {@return the rank of the first range that starts before the one below it ends, or -1 if none overlap}
    public int firstOverlap() {
        for (int rank = 1; rank < starts.length; rank++) {
            if (starts[rank] < ends[rank - 1]) {
                return rank;
            }
        }
        return -1;
    }
}
