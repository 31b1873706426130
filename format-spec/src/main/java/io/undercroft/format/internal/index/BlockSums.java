package io.undercroft.format.internal.index;

import io.undercroft.format.internal.Checksums;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.index.Records.BlockSumFields;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/// The checksums of section ISUM: one for each block of 4096 bytes of what is in the index before it, the directory
/// left out, which has a separate digest. A block is checked when it is first read, and then not again.
///
/// This needs one bit of memory for each 4096 bytes of the index. Safe for any thread: two that read the same block may
/// both check it.
public final class BlockSums {
    /// An index whose sections end beyond this has the section; a smaller one is quicker checked in one piece.
    public static final long SMALL_INDEX = 65_536;

    private static final int PAGE_LOG2 = 12;
    private static final int LONG_LOG2 = 6;
    private static final VarHandle BITS = MethodHandles.arrayElementVarHandle(long[].class);

    private final MemorySegment index;
    private final long directory;
    private final long sums;
    private final long fileOffset;
    private final long[] intact;

    /// Blocks of which none has been checked.
    ///
    /// @param index all bytes of the index
    /// @param directory the length of its directory
    /// @param sums the offset of ISUM, which itself was checked
    /// @param fileOffset the offset of the index in the file, for messages
    BlockSums(MemorySegment index, long directory, long sums, long fileOffset) {
        this.index = index;
        this.directory = directory;
        this.sums = sums;
        this.fileOffset = fileOffset;
        this.intact = new long[(int) ((count() + Long.SIZE - 1) / Long.SIZE)];
    }

    /// {@return their number}
    long count() {
        return count(sums);
    }

    /// Checks that bytes before ISUM are those that were written.
    void require(long from, long length) {
        long last = (from + length - 1) >> PAGE_LOG2;
        long block = from >> PAGE_LOG2;
        // Nearly all records are in one block.
        if (block == last) {
            require(block);
            return;
        }
        for (; block <= last; block++) {
            require(block);
        }
    }

    private void require(long block) {
        int word = (int) (block >> LONG_LOG2);
        long bit = 1L << block;
        // A thread that does not see the bit yet checks again; the update is atomic, so that no bit is lost.
        if ((intact[word] & bit) == 0) {
            check(block);
            BITS.getAndBitwiseOr(intact, word, bit);
        }
    }

    /// Checks that a block is what was written, even if it was checked before.
    void check(long block) {
        if (of(index, directory, sums, block) != BlockSumFields.CRC.getInt(index,
                sums + block * BlockSumFields.RECORD.size())) {
            throw Rule.V14_CHECKSUM.broken("the checksum of a block of the index does not match",
                    fileOffset + block * FileLayout.PAGE);
        }
    }

    /// {@return the number of blocks}
    ///
    /// @param end the offset of ISUM in the index
    public static long count(long end) {
        return (end + FileLayout.PAGE - 1) / FileLayout.PAGE;
    }

    /// {@return the checksum of a block; 0 of one that is in the directory}
    ///
    /// @param index the bytes of the index, at least up to `end`
    /// @param directory the length of the directory
    /// @param end the offset of ISUM in the index
    /// @param block the number of the block
    public static int of(MemorySegment index, long directory, long end, long block) {
        return Checksums.crc32c(bytes(index, directory, end, block));
    }

    /// {@return the checksum of a block of an index in memory that no file is mapped to, like [#of]; nothing is copied}
    ///
    /// @param index the bytes of the index, at least up to `end`
    /// @param directory the length of the directory
    /// @param end the offset of ISUM in the index
    /// @param block the number of the block
    static int ofMemory(MemorySegment index, long directory, long end, long block) {
        return Checksums.crc32cOfMemory(bytes(index, directory, end, block));
    }

    /// Returns the bytes of a block that are summed up: none of one that is in the directory.
    private static MemorySegment bytes(MemorySegment index, long directory, long end, long block) {
        long from = Math.min(Math.max(block * FileLayout.PAGE, directory), end);
        long to = Math.min((block + 1) * FileLayout.PAGE, end);
        return index.asSlice(from, Math.max(0, to - from));
    }
}
