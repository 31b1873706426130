package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// A snapshot keeps its number, whoever made it and however many others are dropped.
class CommitNumbersTest {
    @TempDir
    private Path folder;

    private Path path() {
        return folder.resolve("run.croft");
    }

    private static Map<String, Object> state(int step) {
        return Map.of("step", Tensor.of((float) step));
    }

    private Path appended(int snapshots) throws IOException {
        Checkpoint.save(path(), state(1));
        for (int step = 2; step <= snapshots; step++) {
            CroftFile.open(path()).commit(state(step), SaveOptions.defaults());
        }
        return path();
    }

    private static List<Long> numbers(Path path) throws IOException {
        try (Checkpoint c = Checkpoint.open(path)) {
            return c.snapshots().stream().map(SnapshotInfo::commit).toList();
        }
    }

    private static float stepAt(Path path, long commit) throws IOException {
        try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().snapshot(commit))) {
            assertThat(c.snapshot().orElseThrow().commit()).isEqualTo(commit);
            return c.tensor("step").getFloat(0);
        }
    }

    @Test
    void aFileThatWasOnlyAppendedToKeepsItsNumbersWhenItIsCompacted() throws IOException {
        Path path = appended(5);
        assertThat(numbers(path)).containsExactly(5L, 4L, 3L, 2L, 1L);
        CroftFile.open(path).compact(snapshot -> snapshot.commit() % 2 == 0);
        assertThat(numbers(path)).containsExactly(4L, 2L);
        assertThat(stepAt(path, 2)).isEqualTo(2);
        assertThat(stepAt(path, 4)).isEqualTo(4);
        for (long gone : new long[]{1, 3, 5, 100}) {
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> stepAt(path, gone))
                    .withMessageStartingWith(path + ": there is no snapshot " + gone).withMessageContaining("is 4");
        }
        CroftFile.open(path).commit(state(6), SaveOptions.defaults());
        assertThat(numbers(path)).containsExactly(5L, 4L, 2L);
        CroftFile.open(path).compact(snapshot -> snapshot.commit() == 5);
        assertThat(numbers(path)).containsExactly(5L);
        assertThat(stepAt(path, 5)).isEqualTo(6);
    }

    @Test
    void aSnapshotThatIsCopiedAloneKeepsItsNumber() throws IOException {
        Path alone = folder.resolve("alone.croft");
        CroftFile.open(appended(3)).copy(alone, 2);
        assertThat(numbers(alone)).containsExactly(2L);
        assertThat(stepAt(alone, 2)).isEqualTo(2);
        CroftFile.open(alone).copyWithBases(folder.resolve("flat.croft"), 2);
        assertThat(numbers(folder.resolve("flat.croft"))).containsExactly(2L);
    }

    @Test
    void numbersAreNoMetadataOfTheCaller() throws IOException {
        Path path = appended(2);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.metadata()).isEmpty();
        }
        Map<String, String> text = Map.of("commit", "8d0bef0", "undercroft.commit", "77");
        CroftFile.open(path).commit(state(3), SaveOptions.defaults().metadata(text));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.metadata()).isEqualTo(Map.of("commit", "8d0bef0"));
            assertThat(c.snapshot().orElseThrow().commit()).isEqualTo(3);
        }
        Path fresh = folder.resolve("fresh.croft");
        Checkpoint.save(fresh, state(1), SaveOptions.defaults().metadata(text));
        assertThat(numbers(fresh)).containsExactly(1L);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void listingReadsLittleOfEachSnapshot() throws IOException {
        Map<String, Object> large = Map.of("t", Tensor.zeros(io.undercroft.storage.DType.UINT8, 1 << 20).fill(1));
        Checkpoint.save(path(), large);
        int count = 40;
        for (int i = 0; i < count; i++) {
            CroftFile.open(path()).commit(large, SaveOptions.defaults());
        }
        CroftFile.open(path()).compact(snapshot -> snapshot.commit() > 1);
        try (Checkpoint c = Checkpoint.open(path())) {
            long before = Proc.bytesReadByThisThread();
            assertThat(c.snapshots()).hasSize(count).first().extracting(SnapshotInfo::commit).isEqualTo(count + 1L);
            assertThat(Proc.bytesReadByThisThread() - before).isLessThan(count * 16_384L);
        }
    }
}
