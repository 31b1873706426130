package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.serializer.FailingDisk.Failure;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.Target.Replacing;
import io.undercroft.serializer.internal.writing.FileCopier;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import io.undercroft.testsupport.TestData;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// A disk that fails at any operation, the first or the last, costs no snapshot that was there, nor the next append.
@Isolated("counts the descriptors of the process")
class FailingDiskTest {
    private static final int CHUNK = 1 << 16;
    private static final SaveOptions OPTIONS = SaveOptions.defaults().chunkSize(CHUNK);
    private static final Map<String, Object> NEXT = state(9);

    @TempDir
    Path folder;
    private Path path;
    private byte[] before = {};

    @FunctionalInterface
    private interface Work {
        void on(Disk disk) throws IOException;
    }

    @BeforeEach
    void write() throws IOException {
        path = folder.resolve("a.croft");
        Checkpoint.save(path, state(1), OPTIONS);
        CroftFile.open(path).commit(state(2), OPTIONS);
        CroftFile.open(path).commit(state(3), OPTIONS);
        before = Files.readAllBytes(path);
    }

    /// States of which a part is the same.
    private static Map<String, Object> state(int number) {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("step", (long) number);
        state.put("changing", noise(3 * CHUNK + 5, number));
        state.put("small", noise(100, number));
        state.put("constant", noise(2 * CHUNK, 0));
        return state;
    }

    private static Tensor noise(int nbytes, long seed) {
        return Tensor.of(TestData.noise(nbytes, seed));
    }

    /// Does it again and again, and lets another operation fail each time; returns how many there are. Nothing stays
    /// open.
    private int failEverywhere(Failure failure, Work work) throws IOException {
        long open = 0;
        for (int operation = 1;; operation++) {
            Files.write(path, before);
            FailingDisk disk = new FailingDisk(operation, failure);
            try {
                work.on(disk);
            } catch (IOException e) {
                assertThat(disk.hasFailed()).as("operation %d: %s", operation, e).isTrue();
                assertLifeGoesOn(operation);
                open = operation == 1 ? descriptors() : open;
                continue;
            }
            assertThat(disk.hasFailed()).as("operation %d failed, and nobody said so", operation).isFalse();
            assertThat(descriptors()).isLessThan(open + 5);
            return operation - 1;
        }
    }

    private static long descriptors() throws IOException {
        return Files.exists(Path.of("/proc/self/fd")) ? Proc.descriptors() : 0;
    }

    private static int operations(Work work) throws IOException {
        FailingDisk disk = new FailingDisk(Integer.MAX_VALUE, Failure.ONCE);
        work.on(disk);
        return disk.operations();
    }

    private void assertLifeGoesOn(int operation) throws IOException {
        long last = assertSound(operation);
        CroftFile.open(path).commit(NEXT, OPTIONS);
        assertThat(assertSound(operation)).as("after operation %d", operation).isEqualTo(last + 1);
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            MemorySegment bytes = ((Tensor) NEXT.get("changing")).storage().segment();
            assertThat(checkpoint.tensor("changing").storage().segment().mismatch(bytes)).isEqualTo(-1);
        }
    }

    /// Only what was never committed may be torn.
    private long assertSound(int operation) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            if (checkpoint.skippedCommit().isEmpty()) {
                assertThat(checkpoint.verify().damages()).as("operation %d", operation).isEmpty();
            }
            return checkpoint.snapshot().orElseThrow().sequence();
        }
    }

    private void assertOnlyTheFile() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactly(path);
        }
    }

    @ParameterizedTest
    @EnumSource
    void anAppendThatFailsCostsNothing(Failure failure) throws IOException {
        assertThat(failEverywhere(failure, disk -> ForwardingDisk.commit(disk, path, state(4), OPTIONS)))
                .isGreaterThan(12);
        assertOnlyTheFile();
    }

    @Test
    void aSaveByAnInterruptedThreadLeavesNothing() throws IOException {
        Thread.currentThread().interrupt();
        try {
            assertThatExceptionOfType(IOException.class).isThrownBy(() -> Checkpoint.save(path, NEXT));
        } finally {
            assertThat(Thread.interrupted()).as("still interrupted").isTrue();
        }
        assertOnlyTheFile();
        assertThat(Files.readAllBytes(path)).isEqualTo(before);
    }

    @ParameterizedTest
    @EnumSource
    void aFileThatCouldNotBeReplacedIsAsItWas(Failure failure) throws IOException {
        assertThat(failEverywhere(failure, disk -> ForwardingDisk.save(disk, path, state(4), OPTIONS)))
                .isGreaterThan(8);
        assertCleanedUp(failure);
    }

    @ParameterizedTest
    @EnumSource
    void aFileThatCouldNotBeCompactedIsAsItWas(Failure failure) throws IOException {
        assertThat(failEverywhere(failure,
                disk -> new FileCopier(disk).compact(path, info -> info.sequence() > 1,
                        SaveOptions.Compression.NONE, Replacing.ANY)))
                .isGreaterThan(8);
        assertCleanedUp(failure);
    }

    /// On a disk that works again after one failure.
    private void assertCleanedUp(Failure failure) throws IOException {
        if (failure == Failure.ONCE) {
            assertOnlyTheFile();
        }
    }

    @Test
    void anAppendThatFailsBeforeTheCommitLeavesTheSameBytes() throws IOException {
        int all = operations(disk -> ForwardingDisk.commit(disk, path, state(4), OPTIONS));
        // The last two write the slot and bring it to the disk.
        for (int operation = 1; operation <= all - 2; operation++) {
            Files.write(path, before);
            var disk = new FailingDisk(operation, Failure.ONCE);
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(() -> ForwardingDisk.commit(disk, path, state(4), OPTIONS));
            assertThat(Files.readAllBytes(path)).isEqualTo(before);
        }
    }

    @Test
    void anAppendFirstMakesTheNameAndTheRecordBeforeDurable() throws IOException {
        List<String> done = new ArrayList<>();
        var disk = new ForwardingDisk() {
            @Override
            void before(Operation operation) {
                if (operation == Operation.FORCE || operation == Operation.FORCE_DIRECTORY) {
                    done.add(operation.toString());
                }
            }

            @Override
            void beforeWrite(long offset) {
                done.add("WRITE " + offset);
            }
        };
        ForwardingDisk.commit(disk, path, state(4), OPTIONS);
        Header header = Snapshot.open(ByteSource.of(MemorySegment.ofArray(before)), Limits.DEFAULT).header();
        assertThat(done).endsWith("WRITE " + header.recordOffset(3), "FORCE", "FORCE_DIRECTORY",
                "WRITE " + header.recordOffset(4), "FORCE");
    }

    @Test
    void aDoubtfulNameIsSaidToBeOne() throws IOException {
        int all = operations(disk -> ForwardingDisk.save(disk, path, state(4), OPTIONS));
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> ForwardingDisk.save(new FailingDisk(all, Failure.ONCE), path, state(4), OPTIONS))
                .withMessageContaining("has its name");
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.state()).isInstanceOfSatisfying(Map.class,
                    state -> assertThat(state.get("step")).isEqualTo(4L));
        }
    }

    /// A disk on which nothing fits, and nothing may be written.
    private static final class FullDisk extends ForwardingDisk {
        @Override
        void before(Operation operation) {
            assertThat(operation).isNotIn(Operation.WRITE, Operation.RENAME);
        }

        @Override
        public OptionalLong usableSpace(Path directory) {
            return OptionalLong.of(4000);
        }
    }

    /// Equal bytes and zeros take none of the disk, so that only of a file that has all of them it is known.
    @Test
    void aFileWithAllItsBytesThatDoesNotFitIsRefusedBeforeTheFirstOne() throws IOException {
        Disk full = new FullDisk();
        SaveOptions all = OPTIONS.writableInPlace();
        for (Work work : List.<Work>of(_ -> ForwardingDisk.save(full, path, state(4), all),
                _ -> ForwardingDisk.commit(full, path, state(4), all),
                _ -> ForwardingDisk.commit(full, folder.resolve("new.croft"), state(4), all))) {
            assertThatExceptionOfType(FileSystemException.class).isThrownBy(() -> work.on(Disk.system()))
                    .withMessageContainingAll("at least", "4000 free", "No file was made or changed");
            assertThat(path).hasBinaryContent(before);
            assertOnlyTheFile();
        }
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> Checkpoint.saveAsync(new FullDisk(), path, state(4), all));
        try (CroftFile file = CroftFile.open(new FullDisk(), path, all, OpenOptions.defaults())) {
            assertThatExceptionOfType(FileSystemException.class).isThrownBy(() -> file.commitAsync(state(4), all));
        }
        assertThat(path).hasBinaryContent(before);
        assertOnlyTheFile();
    }
}
