package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// What a commit reads of the snapshots that a file has already, and what it finds there.
class CommitHistoryTest {
    private static final int TENSORS = 2000;
    private static final int CHANGED = 20;

    @TempDir
    Path folder;

    private Path path;
    private final CountingDisk disk = new CountingDisk();

    /// Counts the bytes that are read or mapped, those of the file as a whole apart.
    private static final class CountingDisk extends ForwardingDisk {
        private long read;
        private boolean isFailing;

        @Override
        void before(Operation operation) throws IOException {
            if (isFailing && operation == Operation.FORCE) {
                throw new IOException("the disk has failed");
            }
        }

        @Override
        void beforeRead(long offset, long length) {
            read += offset == 0 ? 0 : length;
        }

        long during(Commit commit) throws IOException {
            read = 0;
            commit.run();
            return read;
        }
    }

    @FunctionalInterface
    private interface Commit {
        void run() throws IOException;
    }

    @BeforeEach
    void choosePath() {
        path = folder.resolve("run.croft");
    }

    private CroftFile open() {
        return CroftFile.open(disk, path, SaveOptions.defaults(), OpenOptions.defaults());
    }

    /// A state of which some tensors differ from step to step.
    private static Map<String, Object> state(int step) {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int number = 0; number < TENSORS; number++) {
            state.put("t" + number, Tensor.of(noise(32, number < CHANGED ? 100_000 * step + number : number)));
        }
        return state;
    }

    private static DedupReport commit(CroftFile file, Object state) throws IOException {
        return file.commit(state, SaveOptions.defaults());
    }

    @Test
    void whatACommitReadsDoesNotGrowWithTheNumberOfSnapshots() throws IOException {
        try (CroftFile file = open()) {
            commit(file, state(1));
            commit(file, state(2));
            long third = disk.during(() -> commit(file, state(3)));
            for (int step = 4; step < 20; step++) {
                commit(file, state(step));
            }
            long last = disk.during(() -> commit(file, state(20)));
            assertThat(last).isPositive().isLessThan(third + third / 10);
        }
    }

    @Test
    void aWriterThatOpensTheFileReadsTheIndexOfEachSnapshotOnce() throws IOException {
        long index = 0;
        try (CroftFile file = open()) {
            for (int step = 1; step <= 5; step++) {
                index = commit(file, state(step)).index();
            }
        }
        try (CroftFile file = open()) {
            assertThat(disk.during(() -> commit(file, state(6)))).isBetween(5 * index, 6 * index);
            assertThat(disk.during(() -> commit(file, state(7)))).isLessThan(2 * index);
        }
    }

    @Test
    void bytesOfAnEarlierSnapshotAreFoundAgain() throws IOException {
        try (CroftFile file = open()) {
            for (int step = 1; step <= 4; step++) {
                commit(file, state(step));
            }
            assertThat(commit(file, state(2)).written()).isZero();
            assertThat(commit(file, state(5)).written()).isEqualTo(CHANGED * 32);
            assertThat(commit(file, state(4)).written()).isZero();
            assertThat(file.verify().isIntact()).isTrue();
        }
    }

    @Test
    void theFileIsTheSameHoweverManyWritersMadeIt() throws IOException {
        int[] steps = {1, 2, 1, 3, 3, 2, 4};
        Path other = folder.resolve("other.croft");
        try (CroftFile file = open()) {
            for (int step : steps) {
                commit(file, state(step));
                try (CroftFile anew = CroftFile.open(other)) {
                    commit(anew, state(step));
                }
            }
        }
        assertThat(Files.mismatch(path, other)).isEqualTo(-1);
    }

    @Test
    void whatAnotherWriterHasCommittedIsFound() throws IOException {
        try (CroftFile file = open(); CroftFile another = CroftFile.open(path)) {
            commit(file, state(1));
            commit(file, state(2));
            commit(another, state(3));
            commit(another, state(4));
            assertThat(file.newest()).isPresent();
            assertThat(commit(file, state(3)).written()).isZero();
            assertThat(another.newest()).isPresent();
            assertThat(commit(another, state(2)).written()).isZero();
            assertThat(file.verify().isIntact()).isTrue();
        }
    }

    @Test
    void afterTheFileWasReplacedNothingOfTheFormerOneIsUsed() throws IOException {
        try (CroftFile file = open(); CroftFile another = CroftFile.open(path)) {
            for (int step = 1; step <= 3; step++) {
                commit(file, state(step));
            }
            another.compact(Retention.last(1));
            assertThat(file.newest()).isPresent();
            assertThat(commit(file, state(1)).written()).isEqualTo(CHANGED * 32);
            Files.delete(path);
            assertThat(another.newest()).isEmpty();
            commit(another, state(4));
            commit(another, state(5));
            assertThat(file.newest()).isPresent();
            assertThat(commit(file, state(1)).written()).isEqualTo(CHANGED * 32);
            assertThat(commit(file, state(4)).written()).isZero();
            assertThat(file.verify().isIntact()).isTrue();
        }
    }

    @Test
    void whatAFailedCommitWroteIsNotUsed() throws IOException {
        try (CroftFile file = open()) {
            commit(file, state(1));
            commit(file, state(2));
            disk.isFailing = true;
            assertThatExceptionOfType(IOException.class).isThrownBy(() -> commit(file, state(3)));
            disk.isFailing = false;
            assertThat(commit(file, state(3)).written()).isEqualTo(CHANGED * 32);
            assertThat(commit(file, state(1)).written()).isZero();
            assertThat(file.verify().isIntact()).isTrue();
        }
    }
}
