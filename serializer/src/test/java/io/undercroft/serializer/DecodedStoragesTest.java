package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Allocation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Storages that have to be decoded are in memory while they are saved, and not all together.
class DecodedStoragesTest {
    private static final int LARGE = 16 << 20;
    private static final int COUNT = 10;

    private final CountedDecoding decoding = new CountedDecoding();
    @TempDir
    private Path directory;

    private void checkSaved(Path file) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            for (int i = 0; i < COUNT; i++) {
                assertThat(checkpoint.tensor("t" + i).getLong(LARGE - 1)).isEqualTo(i + 1);
            }
        }
    }

    @Test
    void aSaveDecodesLargeOnesOneAfterTheOther() throws IOException {
        int large = (64 << 20) + 1;
        Checkpoint.save(directory.resolve("a.croft"), decoding.state(3, large));
        assertThat(decoding.most()).isEqualTo(large);
        assertThat(decoding.live()).isZero();
    }

    /// Four threads write at most.
    @Test
    void aSaveDecodesAsManyAtATimeAsThreadsWrite() throws IOException {
        Map<String, Tensor> state = decoding.state(COUNT, LARGE);
        Path file = directory.resolve("a.croft");
        Checkpoint.save(file, state);
        assertThat(decoding.most()).isBetween((long) LARGE, 4L * LARGE);
        assertThat(decoding.decoded()).isEqualTo((long) COUNT * LARGE);
        assertThat(decoding.live()).isZero();
        assertThat(state.values()).allMatch(tensor -> tensor.storage().isDecodedOnDemand());
        checkSaved(file);
    }

    @Test
    void aFewSmallOnesAreSavedAtOnceAndNotKept() throws IOException {
        Map<String, Tensor> state = decoding.state(COUNT, 1 << 16);
        Checkpoint.save(directory.resolve("a.croft"), state);
        assertThat(decoding.decoded()).isEqualTo(COUNT << 16);
        assertThat(decoding.live()).isZero();
    }

    @Test
    void aSaveInTheBackgroundDecodesOneAfterTheOther() throws IOException {
        Map<String, Tensor> state = decoding.state(COUNT, LARGE);
        Path file = directory.resolve("a.croft");
        Checkpoint.saveAsync(file, state).join();
        assertThat(decoding.most()).isEqualTo(LARGE);
        assertThat(decoding.live()).isZero();
        checkSaved(file);
    }

    @Test
    void whatSomebodyAskedForStays() throws IOException {
        Map<String, Tensor> state = decoding.state(2, 1 << 16);
        assertThat(state.get("t0").getLong(0)).isEqualTo(1);
        Checkpoint.save(directory.resolve("a.croft"), state);
        assertThat(decoding.live()).isEqualTo(1 << 16);
        assertThat(state.get("t0").storage().isMaterialized()).isTrue();
    }

    @Test
    void aSaveThatFailsKeepsNothing() {
        Map<String, Tensor> state = new LinkedHashMap<>(decoding.state(3, 1 << 16));
        Storage damaged = Storage.decoded(1 << 16, () -> {
            throw new IllegalStateException("damaged");
        }, "a test");
        state.put("damaged", Tensor.of(damaged, DType.UINT8, 0, Shape.of(1 << 16), 1));
        assertThatThrownBy(() -> Checkpoint.save(directory.resolve("a.croft"), state)).hasMessageContaining("damaged");
        assertThat(decoding.live()).isZero();
    }

    @Test
    void aStorageWhoseFileWasClosedIsRefusedByPath() {
        Map<String, Tensor> state = decoding.state(1, 64);
        state.get("t0").storage().release();
        assertThatThrownBy(() -> Checkpoint.save(directory.resolve("a.croft"), state))
                .isInstanceOf(IllegalStateException.class).hasMessageContaining("t0");
    }

    @Test
    void bytesThatNobodyReachesAreNotDecoded() throws IOException {
        Storage storage = Storage.decoded(64, () -> {
            throw new IllegalStateException("not needed");
        }, "a test");
        Checkpoint.save(directory.resolve("a.croft"),
                Map.of("empty", Tensor.of(storage, DType.UINT8, 0, Shape.of(0), 1)));
        Storage other = Storage.decoded(8,
                () -> Allocation.collected(MemorySegment.ofArray(new byte[]{1, 2, 3, 4, 5, 6, 7, 8})), "a test");
        Path file = directory.resolve("b.croft");
        Checkpoint.save(file, Map.of("part", Tensor.of(other, DType.UINT8, 2, Shape.of(2), 1)));
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat(checkpoint.tensor("part").getLong(1)).isEqualTo(4);
        }
    }
}
