package io.undercroft.format.internal.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.FileLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BlockSumsTest {
    private static final long DIRECTORY = 5000;
    /// The last block ends in its middle.
    private static final long SUMS = 70 * FileLayout.PAGE + 100;
    private static final long FILE_OFFSET = 1 << 20;

    private final MemorySegment index = MemorySegment.ofArray(new byte[(int) (SUMS + 71 * Integer.BYTES)]);

    @Test
    void aRangeIsRefusedIfAnyOfItsBlocksWasChanged() {
        sum();
        for (long block : new long[]{2, 3, 64, 69, 70}) {
            long start = block * FileLayout.PAGE;
            index.set(ValueLayout.JAVA_BYTE, start + 50, (byte) -1);
            BlockSums changed = new BlockSums(index, DIRECTORY, SUMS, FILE_OFFSET);

            assertThatCode(() -> changed.require(start - 1, 1)).doesNotThrowAnyException();
            for (long[] range : new long[][]{{start, 1}, {start + 99, 1}, {start - 1, 2},
                    {start - FileLayout.PAGE, FileLayout.PAGE + 1L}, {start - 5000, SUMS - (start - 5000)}}) {
                assertThatExceptionOfType(FormatException.class)
                        .isThrownBy(() -> changed.require(range[0], range[1]))
                        .satisfies(e -> assertThat(e.offset()).isEqualTo(FILE_OFFSET + start));
            }
            sum();
        }
    }

    @Test
    void aBlockIsCheckedWhenItIsFirstReadAndThenNotAgain() {
        sum();
        BlockSums sums = new BlockSums(index, DIRECTORY, SUMS, FILE_OFFSET);
        long start = 65 * FileLayout.PAGE;
        sums.require(start, FileLayout.PAGE);
        index.set(ValueLayout.JAVA_BYTE, start, (byte) -1);

        assertThatCode(() -> sums.require(start, FileLayout.PAGE)).doesNotThrowAnyException();
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> sums.check(65));
        assertThat(sums.count()).isEqualTo(71);
    }

    /// Fills the index at random and writes the sums.
    private void sum() {
        byte[] random = new byte[(int) SUMS];
        new Random(3).nextBytes(random);
        MemorySegment.copy(MemorySegment.ofArray(random), 0, index, 0, SUMS);
        for (long block = 0; block < BlockSums.count(SUMS); block++) {
            LittleEndian.putInt(index, SUMS + block * Integer.BYTES, BlockSums.of(index, DIRECTORY, SUMS, block));
        }
    }
}
