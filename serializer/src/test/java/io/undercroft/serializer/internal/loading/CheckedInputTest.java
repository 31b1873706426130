package io.undercroft.serializer.internal.loading;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.internal.Checksums;
import io.undercroft.serializer.internal.loading.IncrementalChecksum.Kind;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Two chunks of a storage with bytes between them that are in no file.
class CheckedInputTest {
    private final byte[] bytes = new byte[1000];
    private final int first;
    private final int second;

    CheckedInputTest() {
        new Random(7).nextBytes(bytes);
        first = checksum(0, 300);
        second = checksum(400, 600);
    }

    private int checksum(int start, int length) {
        return Checksums.crc32c(MemorySegment.ofArray(bytes).asSlice(start, length));
    }

    private void add(CheckedInput sums, int from, int to) {
        sums.add(from, MemorySegment.ofArray(bytes).asSlice(from, to - from));
    }

    private CheckedInput sums(boolean isMapped) {
        return new CheckedInput(List.of(), List.of(new IncrementalChecksum(Kind.CRC32C, 0, 300, first),
                new IncrementalChecksum(Kind.CRC32C, 400, 600, second)), isMapped);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void partsMayArriveInAnyOrderAndTouchSeveralChunks(boolean isMapped) {
        CheckedInput sums = sums(isMapped);
        add(sums, 700, 1000);
        add(sums, 200, 500);
        add(sums, 0, 200);
        add(sums, 500, 700);

        assertThat(sums.damaged()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void onlyTheChunkWithAnotherByteIsDamaged(boolean isMapped) {
        CheckedInput sums = sums(isMapped);
        bytes[999]++;
        add(sums, 0, 500);
        add(sums, 500, 1000);

        assertThat(sums.damaged()).containsExactly(1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aChunkOfWhichAPartIsMissingIsDamaged(boolean isMapped) {
        CheckedInput sums = sums(isMapped);
        add(sums, 100, 1000);

        assertThat(sums.damaged()).containsExactly(0);
    }
}
