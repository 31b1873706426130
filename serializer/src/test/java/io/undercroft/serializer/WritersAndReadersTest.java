package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;

import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.internal.CroftContents;
import io.undercroft.serializer.internal.CroftFormat;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// Several processes and threads at one file.
@Isolated("its processes race with each other")
class WritersAndReadersTest {
    private static final int ELEMENTS = 50_000;

    @TempDir
    Path folder;

    /// A state in which every element is the same number, so that a torn one shows.
    private static Map<String, Object> state(long number) {
        Tensor tensor = Tensor.zeros(DType.INT64, ELEMENTS);
        for (int i = 0; i < ELEMENTS; i++) {
            tensor.setLong(i, number);
        }
        return Map.of("numbers", tensor, "small", Tensor.of(number), "step", number);
    }

    /// Reads the number of a state, and fails if it has two.
    private static long numberIn(Path path) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(path,
                OpenOptions.defaults().checksums(ChecksumPolicy.EAGER))) {
            long number = (Long) ((Map<?, ?>) checkpoint.state()).get("step");
            Tensor tensor = checkpoint.tensor("numbers");
            for (int i = 0; i < ELEMENTS; i += 97) {
                assertThat(tensor.getLong(i)).isEqualTo(number);
            }
            assertThat(checkpoint.tensor("small").getLong(0)).isEqualTo(number);
            return number;
        }
    }

    @Test
    void readersAlwaysSeeAWholeSnapshotWhileAWriterAppends() throws Exception {
        Path path = folder.resolve("state.croft");
        Checkpoint.save(path, state(1));
        AtomicLong committed = new AtomicLong(1);
        AtomicBoolean over = new AtomicBoolean();
        Callable<Long> reader = () -> {
            long reads = 0;
            while (!over.get() || reads == 0) {
                long before = committed.get();
                assertThat(numberIn(path)).isBetween(before, committed.get() + 1);
                reads++;
            }
            return reads;
        };
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            Future<Long> one = threads.submit(reader);
            Future<Long> other = threads.submit(reader);
            try {
                for (long number = 2; number <= 60; number++) {
                    CheckpointFile.open(path).commit(state(number), SaveOptions.defaults());
                    committed.set(number);
                }
            } finally {
                over.set(true);
            }
            assertThat(one.get()).isPositive();
            assertThat(other.get()).isPositive();
        }
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.snapshots()).hasSize(60);
            assertThat(checkpoint.verify().damages()).isEmpty();
        }
    }

    @Test
    void whatIsOpenStaysAsItIsWhileTheFileIsAppendedToAndCompacted() throws IOException {
        Path path = folder.resolve("state.croft");
        Checkpoint.save(path, state(1));
        try (Checkpoint first = Checkpoint.open(path)) {
            CheckpointFile.open(path).commit(state(2), SaveOptions.defaults());
            CheckpointFile.open(path).compact(info -> info.sequence() == 2);
            assertThat(first.tensor("numbers").getLong(ELEMENTS - 1)).isEqualTo(1);
        }
        assertThat(numberIn(path)).isEqualTo(2);
    }

    /// The disk of this computer, which fails when all is written and is to be brought to it.
    private static final class UnsafeDisk extends ForwardingDisk {
        private final Action whenWritten;

        interface Action {
            void run() throws IOException;
        }

        UnsafeDisk(Action whenWritten) {
            this.whenWritten = whenWritten;
        }

        @Override
        void before(Operation operation) throws IOException {
            if (operation == Operation.FORCE) {
                whenWritten.run();
                throw new IOException("no space left");
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"1, false", "2, false", "3, false", "1, true", "2, true"})
    void whatAFailedAppendCutsOffIsNotMissedByReaders(int snapshots, boolean isTouchedBefore) throws IOException {
        Path path = folder.resolve("state.croft");
        for (long number = 1; number <= snapshots; number++) {
            CheckpointFile.open(path).commit(state(number), SaveOptions.defaults());
        }
        long size = Files.size(path);
        List<Checkpoint> readers = new ArrayList<>();
        Disk disk = new UnsafeDisk(() -> {
            assertThat(Files.size(path)).isGreaterThan(size);
            for (OpenOptions options : List.of(OpenOptions.defaults(),
                    OpenOptions.defaults().mapping(MapMode.READ_ONLY),
                    OpenOptions.defaults().checksums(ChecksumPolicy.ON_TOUCH), OpenOptions.defaults().snapshot(1))) {
                Checkpoint reader = Checkpoint.open(path, options);
                readers.add(reader);
                if (isTouchedBefore) {
                    assertThat(reader.tensor("small").getLong(0)).isPositive();
                }
            }
        });
        assertThatIOException()
                .isThrownBy(() -> CheckpointFile.open(disk, path, SaveOptions.defaults(), OpenOptions.defaults())
                        .commit(state(9), SaveOptions.defaults()));
        assertThat(path).hasSize(size);
        for (Checkpoint reader : readers) {
            long number = reader.snapshot().orElseThrow().sequence();
            assertThat(reader.tensor("numbers").toLongArray()).containsOnly(number);
            assertThat(reader.tensor("small").copy().getLong(0)).isEqualTo(number);
            assertThat(reader.verify().damages()).isEmpty();
            assertThat(reader.snapshots()).hasSize(snapshots);
            Path copy = folder.resolve("copy.croft");
            Checkpoint.save(copy, reader.state());
            assertThat(numberIn(copy)).isEqualTo(number);
            reader.close();
        }
    }

    @Test
    void aFileThatGrowsWhileItIsOpenedShowsItsNewestSnapshot() throws IOException {
        Path path = folder.resolve("state.croft");
        Checkpoint.save(path, state(1));
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            CheckpointFile.open(path).commit(state(2), SaveOptions.defaults());
            CroftContents contents = (CroftContents) new CroftFormat().open(file, OpenOptions.defaults());
            assertThat(contents.skippedCommit()).isEmpty();
            assertThat(contents.tensor("numbers").orElseThrow().toLongArray()).containsOnly(2);
            assertThat(contents.verify().damages()).isEmpty();
            contents.release();
        }
    }

    /// Appends so many snapshots, waiting for its turn, and says after each which one it was.
    static final class Appending {
        public static void main(String... arguments) throws IOException {
            Path path = Path.of(arguments[0]);
            for (long number = 2; number < 2 + Long.parseLong(arguments[1]);) {
                try {
                    CheckpointFile.open(path).commit(state(number), SaveOptions.defaults());
                    System.out.println(number++);
                } catch (LockedException _) {
                    Thread.onSpinWait();
                }
            }
        }
    }

    @Test
    void processesThatAppendByTurnsLoseNoSnapshot() throws Exception {
        Path path = folder.resolve("state.croft");
        Checkpoint.save(path, state(1));
        try (PeerJvm one = PeerJvm.start(Appending.class, path.toString(), "25");
                PeerJvm other = PeerJvm.start(Appending.class, path.toString(), "25")) {
            one.endsWell();
            other.endsWell();
        }
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.snapshots()).hasSize(51);
            assertThat(checkpoint.verify().damages()).isEmpty();
        }
    }

    @Test
    void aWriterThatIsKilledLeavesAWholeFileAndNoLock() throws Exception {
        Path path = folder.resolve("state.croft");
        Checkpoint.save(path, state(1));
        long last = 0;
        try (PeerJvm writer = PeerJvm.start(Appending.class, path.toString(), Long.toString(Long.MAX_VALUE / 2))) {
            while (last < 20) {
                last = Long.parseLong(writer.answer());
            }
            assertThatExceptionOfType(LockedException.class).isThrownBy(() -> {
                while (true) {
                    CheckpointFile.open(path).compact(_ -> true);
                }
            }).withMessageContaining("is being written by");
            writer.kill();
        }
        assertThat(numberIn(path)).isGreaterThanOrEqualTo(last);
        CheckpointFile.open(path).commit(state(1000), SaveOptions.defaults());
        assertThat(numberIn(path)).isEqualTo(1000);
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.verify().damages()).isEmpty();
        }
        assertThat(Files.exists(folder.resolve("state.croft.lock"))).isFalse();
    }
}
