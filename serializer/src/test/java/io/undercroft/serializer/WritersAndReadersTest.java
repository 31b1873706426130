package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
