package io.undercroft.format.internal.index;

import io.undercroft.format.internal.Digests;
import io.undercroft.format.internal.Layout;
import java.lang.foreign.MemorySegment;

/// The checksums of section ISUM: one for each block of 4096 bytes of what is in the index before it, the directory
/// left out, which has a digest of its own.
public final class BlockSums {
    /// An index whose sections end beyond this has the section; a smaller one is quicker checked in one piece.
    public static final long SMALL_INDEX = 65_536;

    private BlockSums() {}

    /// {@return how many blocks there are}
    ///
    /// @param end where ISUM starts in the index
    public static long count(long end) {
        return (end + Layout.PAGE - 1) / Layout.PAGE;
    }

    /// {@return the checksum of a block; 0 of one that lies in the directory}
    ///
    /// @param index the bytes of the index, at least up to `end`
    /// @param directory the length of the directory
    /// @param end where ISUM starts in the index
    /// @param block which one
    public static int of(MemorySegment index, long directory, long end, long block) {
        long from = Math.max(block * Layout.PAGE, directory);
        long to = Math.min((block + 1) * Layout.PAGE, end);
        return from < to ? Digests.crc32c(index.asSlice(from, to - from)) : 0;
    }
}
