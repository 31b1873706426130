package io.undercroft.format.internal.index;

import io.undercroft.format.internal.Layout;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.index.Records.Isum;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/// The blocks of an index that has section ISUM, each checked when the first of its bytes is wanted, and then no more.
///
/// Takes a bit of memory for each 4096 bytes of the index. Safe for any thread: two that meet at a block may both check
/// it.
final class CheckedBlocks {
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
    /// @param sums where ISUM, which itself was checked, starts in it
    /// @param fileOffset where the index starts in the file, for messages
    CheckedBlocks(MemorySegment index, long directory, long sums, long fileOffset) {
        this.index = index;
        this.directory = directory;
        this.sums = sums;
        this.fileOffset = fileOffset;
        this.intact = new long[(int) ((count() + Long.SIZE - 1) / Long.SIZE)];
    }

    /// {@return how many there are}
    long count() {
        return BlockSums.count(sums);
    }

    /// Checks that bytes before ISUM are those that were written.
    void require(long from, long length) {
        for (long block = from / Layout.PAGE; block * Layout.PAGE < from + length; block++) {
            int word = (int) (block / Long.SIZE);
            long bit = 1L << block % Long.SIZE;
            // A thread that does not see the bit yet checks again; the update is atomic, so that no bit is lost.
            if ((intact[word] & bit) == 0) {
                check(block);
                BITS.getAndBitwiseOr(intact, word, bit);
            }
        }
    }

    /// Checks that a block is what was written, even if it was checked before.
    void check(long block) {
        if (BlockSums.of(index, directory, sums, block) != Isum.CRC.getInt(index, sums + block * Isum.RECORD.size())) {
            throw Rule.V14_CHECKSUM.broken("the checksum of a block of the index does not match",
                    fileOffset + block * Layout.PAGE);
        }
    }
}
