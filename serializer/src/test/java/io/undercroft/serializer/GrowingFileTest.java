package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.disk.WriterLock;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.AbstractMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class GrowingFileTest {
    private static final long MEGABYTE = 1 << 20;

    @TempDir
    private Path folder;
    private Path path;

    @BeforeEach
    void choosePath() {
        path = folder.resolve("run.croft");
    }

    /// A state that has a megabyte in common with every other, and one of its own.
    private static Map<String, Object> state(long step) {
        return Map.of("step", step, "frozen", Tensor.full(DType.INT8, 7, MEGABYTE), "trained",
                Tensor.full(DType.INT64, 1000 + step, MEGABYTE / 8));
    }

    private static void commit(CroftFile file, int from, int to) throws IOException {
        for (int step = from; step <= to; step++) {
            file.commit(state(step), "step " + step);
        }
    }

    private static List<String> messages(CroftFile file) throws IOException {
        return file.snapshots().stream().map(SnapshotInfo::message).toList();
    }

    @Test
    void aCopyOverTheFileItselfIsRefusedIfItWouldDropSnapshots() throws IOException {
        try (CroftFile file = CroftFile.open(path)) {
            commit(file, 1, 2);
            assertThatIllegalArgumentException().isThrownBy(() -> file.copy(folder.resolve("./run.croft")))
                    .withMessageContaining("CroftFile.compact");
            assertThatIllegalArgumentException().isThrownBy(() -> file.copyWithBases(path))
                    .withMessageContaining("several snapshots");
            assertThat(messages(file)).containsExactly("step 2", "step 1");
            file.compact(Retention.last(1));
            assertThatExceptionOfType(SourceFileException.class).isThrownBy(() -> file.copy(path));
            assertThatExceptionOfType(SourceFileException.class).isThrownBy(() -> file.copyWithBases(path));
        }
        try (CroftFile file = CroftFile.open(path, SaveOptions.defaults().replacingSource(),
                OpenOptions.defaults())) {
            file.copy(path);
            assertThat(messages(file)).containsExactly("step 2");
        }
    }

    @Test
    void theFirstCommitMakesTheFileAndLaterOnesGrowIt() throws IOException {
        try (CroftFile file = CroftFile.open(path)) {
            assertThat(file.newest()).isEmpty();
            assertThat(file.snapshots()).isEmpty();
            commit(file, 1, 1);
            long first = Files.size(path);
            DedupReport report = file.commit(state(2), "step 2");
            assertThat(report.written()).isEqualTo(MEGABYTE);
            assertThat(Files.size(path)).isLessThan(2 * first);
            assertThat(messages(file)).containsExactly("step 2", "step 1");
            assertThat(file.snapshots()).allSatisfy(snapshot -> assertThat(snapshot.time()).isPresent());
            assertThat(file.at(1).tensor("trained").getLong(0)).isEqualTo(1001);
            assertThat(file.newest().orElseThrow().tensor("trained").getLong(0)).isEqualTo(1002);
        }
    }

    @Test
    void aSnapshotIsOneCheckpointHoweverOftenItIsAskedFor() throws IOException {
        Checkpoint first;
        try (CroftFile file = CroftFile.open(path)) {
            commit(file, 1, 2);
            first = file.at(1);
            assertThat(file.at(1)).isSameAs(first);
            assertThat(file.at(2)).isSameAs(file.newest().orElseThrow()).isNotSameAs(first);
            assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> file.at(3))
                    .withMessageContaining("no snapshot 3");
        }
        assertThatIllegalStateException().isThrownBy(() -> first.tensor("trained").getLong(0));
    }

    @Test
    void aRunGoesOnFromItsLastCompleteCommit() throws IOException {
        try (CroftFile file = CroftFile.open(path)) {
            commit(file, 1, 2);
        }
        appendGarbage();
        try (CroftFile file = CroftFile.open(path)) {
            assertThat(file.newest().orElseThrow().state()).asInstanceOf(InstanceOfAssertFactories.MAP)
                    .containsEntry("step", 2L);
            commit(file, 3, 3);
            assertThat(messages(file)).containsExactly("step 3", "step 2", "step 1");
            assertThat(file.newest().orElseThrow().verify().damages()).isEmpty();
        }
    }

    /// What a process leaves that is killed while it commits.
    private void appendGarbage() throws IOException {
        Files.write(path, new byte[100_000], StandardOpenOption.APPEND);
    }

    @Test
    void theLastOnesAndEverySoManyStay() throws IOException {
        Retention rule = Retention.last(2).andEvery(4);
        try (CroftFile file = CroftFile.open(path)) {
            commit(file, 1, 7);
            assertThat(file.compact(rule)).isGreaterThan(3 * MEGABYTE);
            assertThat(messages(file)).containsExactly("step 7", "step 6", "step 4");
            commit(file, 8, 10);
            file.compact(rule);
            assertThat(messages(file)).containsExactly("step 10", "step 9", "step 8", "step 4");
            assertThat(file.snapshots()).extracting(SnapshotInfo::sequence).containsExactly(4L, 3L, 2L, 1L);
            assertThat(file.snapshots()).extracting(SnapshotInfo::commit).containsExactly(10L, 9L, 8L, 4L);
            assertThat(file.at(4).tensor("trained").getLong(5)).isEqualTo(1004);
            assertThat(file.at(9).snapshot().orElseThrow().commit()).isEqualTo(9);
            for (long dropped : new long[]{1, 2, 3, 5, 7, 11}) {
                assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> file.at(dropped))
                        .withMessageContaining("no snapshot " + dropped);
            }
            assertThat(file.newest().orElseThrow().verify().damages()).isEmpty();
            assertThat(file.compact(rule)).isZero();
        }
    }

    @Test
    void aFileIsWrittenAnewOnlyWhenThatIsWorthIt() throws IOException {
        Retention rule = Retention.last(1);
        int rewritten = 0;
        try (CroftFile file = CroftFile.open(path)) {
            for (int step = 1; step <= 20; step++) {
                commit(file, step, step);
                rewritten += file.retain(rule) > 0 ? 1 : 0;
                // Two megabytes stay; as many may be in vain, and what the last commit wrote.
                assertThat(Files.size(path)).isLessThan(6 * MEGABYTE);
                assertThat(messages(file)).startsWith("step " + step);
            }
        }
        assertThat(rewritten).isBetween(5, 10);
    }

    @Test
    void aCheckpointThatIsOpenOutlivesCompaction() throws IOException {
        try (CroftFile file = CroftFile.open(path)) {
            commit(file, 1, 3);
            Checkpoint first = file.at(1);
            file.compact(Retention.last(1));
            assertThat(first.tensor("trained").getLong(0)).isEqualTo(1001);
            assertThat(file.at(3).tensor("trained").getLong(0)).isEqualTo(1003);
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void whatWasNotHandedOutIsNotHeldOpen() throws IOException {
        try (CroftFile file = CroftFile.open(path)) {
            for (int step = 1; step <= 5; step++) {
                commit(file, step, step);
                assertThat(file.snapshots()).isNotEmpty();
                file.compact(Retention.last(1));
            }
            assertThat(descriptors()).isZero();
            file.newest();
            assertThat(descriptors()).isPositive();
        }
        assertThat(descriptors()).isZero();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void whatItsUserHasClosedIsNotHeldOpenAndOpensAnew() throws IOException {
        try (CroftFile file = CroftFile.open(path)) {
            for (int step = 1; step <= 5; step++) {
                commit(file, step, step);
                try (Checkpoint newest = file.newest().orElseThrow()) {
                    assertThat(newest.tensor("trained").getLong(0)).isEqualTo(1000 + step);
                }
                assertThat(descriptors()).isZero();
            }
            assertThat(file.newest().orElseThrow().tensor("trained").getLong(0)).isEqualTo(1005);
            assertThat(file.at(5)).isSameAs(file.newest().orElseThrow());
        }
    }

    /// How many descriptors of the file this process has, also where it was replaced.
    private long descriptors() throws IOException {
        return Proc.openFiles().stream().filter(file -> file.startsWith(folder.toString())).count();
    }

    @Test
    void commitsOfOtherProgramsCountByTheirPlace() throws IOException {
        Checkpoint.save(path, state(1), SaveOptions.defaults().message("saved"));
        CroftFile.open(path).commit(state(2),
                SaveOptions.defaults().metadata(Map.of("commit", "x")).message("appended"));
        try (CroftFile file = CroftFile.open(path)) {
            commit(file, 3, 3);
            file.compact(Retention.last(1).andEvery(2));
            assertThat(messages(file)).containsExactly("step 3", "appended");
        }
    }

    @Test
    void metadataOfTheOptionsGoesWithEveryCommit() throws IOException {
        SaveOptions saving = SaveOptions.defaults().metadata(Map.of("run", "a7"));
        try (CroftFile file = CroftFile.open(path, saving, OpenOptions.defaults().onMeta())) {
            commit(file, 1, 2);
            assertThat(file.at(2).metadata()).isEqualTo(Map.of("run", "a7"));
            assertThat(file.at(2).snapshot().orElseThrow().commit()).isEqualTo(2);
            assertThat(file.at(2).tensor("trained").storage().isMeta()).isTrue();
        }
    }

    @Test
    void snapshotsAreListedAndDroppedWhicheverTensorsAreToBeLoaded() throws IOException {
        OpenOptions opening = OpenOptions.defaults().only("ema/**");
        try (CroftFile file = CroftFile.open(path, SaveOptions.defaults(), opening)) {
            file.commit(Map.of("ema", Map.of("w", Tensor.of(1f))), "first");
            file.commit(Map.of("model", Map.of("w", Tensor.of(2f))), "second");
            assertThat(messages(file)).containsExactly("second", "first");
            file.compact(Retention.last(1));
            assertThat(messages(file)).containsExactly("second");
        }
    }

    @Test
    void aSecondWriterIsRefusedAlsoBeforeThereIsAFile() throws IOException {
        try (CroftFile file = CroftFile.open(path)) {
            try (WriterLock _ = WriterLock.of(path)) {
                assertThatExceptionOfType(LockedException.class).isThrownBy(() -> commit(file, 1, 1))
                        .withMessageContaining("pid");
            }
            commit(file, 1, 2);
            try (WriterLock _ = WriterLock.of(path)) {
                assertThatExceptionOfType(LockedException.class).isThrownBy(() -> commit(file, 3, 3));
                assertThatExceptionOfType(LockedException.class).isThrownBy(() -> file.compact(Retention.last(1)));
            }
        }
    }

    @Test
    void writersThatStartAtOnceLoseNoCommit() throws Exception {
        int writers = 4;
        var start = new CyclicBarrier(writers);
        int committed = 0;
        try (ExecutorService threads = Executors.newFixedThreadPool(writers)) {
            List<Future<Boolean>> results = IntStream.range(0, writers)
                    .mapToObj(writer -> threads.submit(() -> {
                        start.await();
                        return commitOnce(writer);
                    })).toList();
            for (Future<Boolean> result : results) {
                committed += result.get() ? 1 : 0;
            }
        }
        assertThat(committed).isPositive();
        try (CroftFile file = CroftFile.open(path)) {
            assertThat(file.snapshots()).hasSize(committed);
            assertThat(file.newest().orElseThrow().verify().damages()).isEmpty();
        }
    }

    @Test
    void aCommitThatIsOvertakenGetsTheNextNumber() throws IOException {
        try (CroftFile file = CroftFile.open(path); CroftFile other = CroftFile.open(path)) {
            file.commit(new OvertakenState(() -> commit(other, 1, 1)), "at once");
            assertThat(other.newest()).isPresent();
            commit(other, 3, 3);
            assertThat(file.newest()).isPresent();
            file.commitAsync(Map.of("step", 0L), "in the background").join();
            assertThat(messages(file)).containsExactly("in the background", "step 3", "at once", "step 1");
            for (int sequence = 1; sequence <= 4; sequence++) {
                assertThat(file.at(sequence).snapshot().orElseThrow().commit()).isEqualTo(sequence);
            }
        }
    }

    @Test
    void twoWritersDoNotInterleave() throws IOException {
        try (CroftFile file = CroftFile.open(path); CroftFile other = CroftFile.open(path)) {
            commit(file, 1, 2);
            commit(other, 3, 3);
            byte[] before = Files.readAllBytes(path);
            assertStale(() -> commit(file, 4, 4), "another writer has committed");
            assertStale(() -> file.commitAsync(Map.of("step", 4), "step 4").close(), "another writer has committed");
            assertStale(() -> file.compact(Retention.last(1)), "another writer has committed");
            assertStale(() -> file.retain(Retention.last(1)), "another writer has committed");
            assertThat(messages(file)).as("listing is not taking into account").hasSize(3);
            assertStale(() -> commit(file, 4, 4), "another writer has committed");
            assertThat(path).hasBinaryContent(before);

            assertThat(file.newest().orElseThrow().snapshot().orElseThrow().message()).isEqualTo("step 3");
            file.commitAsync(Map.of("step", 4), "step 4").join();
            commit(file, 5, 5);
            assertStale(() -> commit(other, 6, 6), "another writer has committed");
            try (CroftFile again = CroftFile.open(path)) {
                assertThat(again.newest()).isPresent();
                commit(file, 6, 6);
                assertStale(() -> commit(again, 7, 7), "another writer has committed");
            }
            assertThat(messages(file)).containsExactly("step 6", "step 5", "step 4", "step 3", "step 2", "step 1");
        }
    }

    @Test
    void aWriterDoesNotContinueAnotherFile() throws IOException {
        try (CroftFile file = CroftFile.open(path); CroftFile other = CroftFile.open(path)) {
            commit(file, 1, 2);
            Checkpoint.save(path, Map.of("other", 1), SaveOptions.defaults().message("other"));
            assertStale(() -> commit(file, 3, 3), "replaced");
            assertStale(() -> file.commitAsync(Map.of("step", 3), "step 3").close(), "replaced");
            assertThat(messages(file)).containsExactly("other");
            assertThat(file.newest()).isPresent();
            commit(file, 3, 3);

            other.compact(Retention.last(1));
            assertStale(() -> commit(file, 4, 4), "replaced");
            assertThat(file.newest()).isPresent();
            commit(file, 4, 5);
            file.compact(Retention.last(1));
            commit(file, 6, 6);
            assertThat(messages(file)).containsExactly("step 6", "step 5");

            Files.delete(path);
            assertStale(() -> commit(file, 7, 7), "deleted");
            assertThat(path).doesNotExist();
            assertThat(file.newest()).isEmpty();
            commit(file, 7, 7);
            assertThat(messages(file)).containsExactly("step 7");
        }
    }

    private static void assertStale(ThrowingCallable writing, String what) {
        assertThatExceptionOfType(StaleFileException.class).isThrownBy(writing).withMessageContaining(what)
                .withMessageContaining("CroftFile.newest()");
    }

    @FunctionalInterface
    private interface Overtaking {
        void commit() throws IOException;
    }

    /// A state which another writer overtakes while it is planned.
    private static final class OvertakenState extends AbstractMap<String, Object> {
        private final Overtaking overtaking;
        private boolean isOvertaken;

        OvertakenState(Overtaking overtaking) {
            this.overtaking = overtaking;
        }

        @Override
        public Set<Entry<String, Object>> entrySet() {
            if (!isOvertaken) {
                isOvertaken = true;
                try {
                    overtaking.commit();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
            return Set.of(Map.entry("step", 0L));
        }
    }

    @Test
    void writersInARaceNumberTheirCommitsOneByOne() throws Exception {
        int writers = 3;
        int each = 15;
        var start = new CyclicBarrier(writers);
        try (ExecutorService threads = Executors.newFixedThreadPool(writers)) {
            List<Future<?>> ends = IntStream.range(0, writers).<Future<?>>mapToObj(writer -> threads.submit(() -> {
                start.await();
                commitInSpiteOfOthers(each);
                return null;
            })).toList();
            for (Future<?> end : ends) {
                end.get();
            }
        }
        try (CroftFile file = CroftFile.open(path)) {
            for (int sequence = 1; sequence <= writers * each; sequence++) {
                assertThat(file.at(sequence).snapshot().orElseThrow().commit()).isEqualTo(sequence);
            }
            assertThat(file.snapshots()).hasSize(writers * each);
        }
    }

    /// Commits by turns at once and in the background, each time as soon as nobody else does.
    private void commitInSpiteOfOthers(int count) throws IOException {
        try (CroftFile file = CroftFile.open(path)) {
            for (int done = 0; done < count;) {
                try {
                    if (done % 2 == 0) {
                        file.commit(done, "at once");
                    } else {
                        file.commitAsync(done, "in the background").join();
                    }
                    done++;
                } catch (LockedException _) {
                    Thread.onSpinWait();
                } catch (StaleFileException _) {
                    assertThat(file.newest()).isPresent();
                }
            }
        }
    }

    private boolean commitOnce(int step) throws IOException {
        try (CroftFile file = CroftFile.open(path)) {
            commit(file, step, step);
            return true;
        } catch (LockedException _) {
            return false;
        }
    }

    @Test
    void aFolderThatIsMissingIsSaidSo() {
        try (CroftFile file = CroftFile.open(folder.resolve("missing/run.croft"))) {
            assertThatExceptionOfType(NoSuchFileException.class).isThrownBy(() -> commit(file, 1, 1))
                    .withMessageContaining("does not exist");
        }
    }

    @Test
    void aStateThatCannotBeSavedLeavesTheFileAsItWas() throws IOException {
        try (CroftFile file = CroftFile.open(path)) {
            commit(file, 1, 1);
            byte[] before = Files.readAllBytes(path);
            assertThatIllegalArgumentException().isThrownBy(() -> file.commit(Map.of("a", new Object()), ""))
                    .withMessageContaining("the value at 'a");
            assertThat(path).hasBinaryContent(before);
            assertThat(folder).isDirectoryNotContaining(other -> !other.equals(path));
        }
    }

    @Test
    void afterItsCloseNothingIsDone() throws IOException {
        CroftFile file = CroftFile.open(path);
        commit(file, 1, 1);
        file.close();
        file.close();
        assertThatIllegalStateException().isThrownBy(() -> commit(file, 2, 2))
                .withMessage(path + " is closed; close it later, or open it again");
        assertThatIllegalStateException().isThrownBy(file::newest);
        assertThatIllegalStateException().isThrownBy(() -> file.at(1));
    }

    @Test
    void commitsInTheBackgroundMakeTheFileAndGrowIt() throws IOException {
        Map<String, Object> state = state(1);
        Tensor trained = (Tensor) state.get("trained");
        try (CroftFile file = CroftFile.open(path)) {
            for (int step = 1; step <= 3; step++) {
                trained.fill(1000 + step);
                try (PendingSave pending = file.commitAsync(state, "step " + step)) {
                    trained.fill(-1);
                    assertThat(pending.join().dedup().orElseThrow().written()).isPositive();
                }
                assertThat(file.newest().orElseThrow().tensor("trained").getLong(MEGABYTE / 8 - 1))
                        .isEqualTo(1000 + step);
            }
            assertThat(messages(file)).containsExactly("step 3", "step 2", "step 1");
            file.retain(Retention.last(1));
            assertThat(file.newest().orElseThrow().verify().damages()).isEmpty();
        }
    }

    @Test
    void aRuleKeepsAtLeastTheNewest() {
        assertThatIllegalArgumentException().isThrownBy(() -> Retention.last(0)).withMessageContaining("at least");
        assertThatIllegalArgumentException().isThrownBy(() -> Retention.last(1).andEvery(0));
        assertThat(Retention.last(3).andEvery(10)).hasToString("the last 3 and every 10th");
    }

    @Test
    void aTornFileIsDamageAndNotAnEmptyOne() throws IOException {
        try (CroftFile file = CroftFile.open(path)) {
            commit(file, 1, 1);
            try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
                channel.truncate(5000);
            }
            assertThatExceptionOfType(FormatException.class).isThrownBy(file::newest);
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> commit(file, 2, 2));
        }
    }
}
