package io.undercroft.mmap.internal;

import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/// A set of bytes of a file, as ranges. It takes memory for each range that touches no other one, and none for the size
/// of the file.
final class ByteRanges {
    /// The ends of the ranges by their starts; they do not overlap or touch.
    private final NavigableMap<Long, Long> ends = new TreeMap<>();

    /// Adds the bytes of a range.
    ///
    /// @param start the offset of the first byte
    /// @param end the offset after the last one
    void add(long start, long end) {
        if (start >= end) {
            return;
        }
        long from = start;
        long to = end;
        Map.Entry<Long, Long> before = ends.floorEntry(start);
        if (before != null && before.getValue() >= start) {
            from = before.getKey();
            to = Math.max(to, before.getValue());
        }
        for (Map.Entry<Long, Long> after = ends.ceilingEntry(from); after != null
                && after.getKey() <= to; after = ends.ceilingEntry(from)) {
            to = Math.max(to, after.getValue());
            ends.remove(after.getKey());
        }
        ends.put(from, to);
    }

    /// {@return whether all bytes of a range are in the set}
    ///
    /// @param start the offset of the first byte
    /// @param end the offset after the last one
    boolean contains(long start, long end) {
        return start >= end || nextAbsent(start) >= end;
    }

    /// {@return whether a byte of a range is in the set}
    ///
    /// @param start the offset of the first byte
    /// @param end the offset after the last one
    boolean intersects(long start, long end) {
        Map.Entry<Long, Long> before = ends.lowerEntry(end);
        return start < end && before != null && before.getValue() > start;
    }

    /// {@return the offset of the first byte that is not in the set, from an offset on}
    ///
    /// @param offset the offset
    long nextAbsent(long offset) {
        Map.Entry<Long, Long> before = ends.floorEntry(offset);
        return before == null ? offset : Math.max(offset, before.getValue());
    }

    /// {@return the offset of the first byte that is in the set, from one that is not; [Long#MAX_VALUE] if there is
    /// none}
    ///
    /// @param absent the offset of a byte that is not in the set
    long nextPresent(long absent) {
        Long start = ends.higherKey(absent);
        return start == null ? Long.MAX_VALUE : start;
    }
}
