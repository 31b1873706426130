package io.undercroft.serializer.internal.loading;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.internal.Checksums;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.StorageChunk;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Two chunks of a storage with bytes between them that are in no file.
class RunChecksumsTest {
    private final byte[] bytes = new byte[1000];
    private final StorageChunk first;
    private final StorageChunk second;

    RunChecksumsTest() {
        new Random(7).nextBytes(bytes);
        first = chunk(0, 300);
        second = chunk(400, 600);
    }

    private StorageChunk chunk(int start, int length) {
        int checksum = Checksums.crc32c(MemorySegment.ofArray(bytes).asSlice(start, length));
        return new StorageChunk(0, start, length, ExtentRecord.THIS_FILE, start, checksum);
    }

    private void add(RunChecksums sums, int from, int to) {
        sums.add(from, MemorySegment.ofArray(bytes).asSlice(from, to - from));
    }

    private RunChecksums sums(boolean isMapped) {
        return new RunChecksums(List.of(first, second), isMapped);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void partsMayArriveInAnyOrderAndTouchSeveralChunks(boolean isMapped) {
        RunChecksums sums = sums(isMapped);
        add(sums, 700, 1000);
        add(sums, 200, 500);
        add(sums, 0, 200);
        add(sums, 500, 700);

        assertThat(sums.damaged()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void onlyTheChunkWithAnotherByteIsDamaged(boolean isMapped) {
        RunChecksums sums = sums(isMapped);
        bytes[999]++;
        add(sums, 0, 500);
        add(sums, 500, 1000);

        assertThat(sums.damaged()).containsExactly(second);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aChunkOfWhichAPartIsMissingIsDamaged(boolean isMapped) {
        RunChecksums sums = sums(isMapped);
        add(sums, 100, 1000);

        assertThat(sums.damaged()).containsExactly(first);
    }
}
