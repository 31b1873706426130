package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/// Versions that replace each other while they are read, by threads and by processes, some of which are killed.
@EnabledOnOs(OS.LINUX)
class HotSwapTest {
    private static final int TENSORS = 4;
    private static final int ELEMENTS = 20_000;
    private static final Path SHM = Path.of("/dev/shm");

    private final String name = "croft-swap-" + UUID.randomUUID().toString().substring(0, 12);

    @AfterEach
    void removeTheName() throws SharedMemoryException {
        SharedMemory.unlink(name);
    }

    /// Every element tells the number of the version and that of the tensor, so that a torn one shows; two tensors are
    /// tied.
    private static Map<String, Object> version(long number) {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < TENSORS; i++) {
            state.put("t" + i, Tensor.full(DType.INT64, number * TENSORS + i, ELEMENTS));
        }
        state.put("tied", ((Tensor) state.get("t0")).view(ELEMENTS / 2, 2));
        state.put("number", number);
        return state;
    }

    private static void publish(String name, long number) throws IOException {
        PublishedCheckpoint.publish(name, version(number), SaveOptions.defaults()).close();
    }

    /// Reads the number of a version, and fails if it has two.
    private static long numberOf(Checkpoint checkpoint) {
        long number = checkpoint.tensor("t0").getLong(0) / TENSORS;
        for (int i = 0; i < TENSORS; i++) {
            Tensor tensor = checkpoint.tensor("t" + i);
            for (int at = 0; at < ELEMENTS; at += 997) {
                assertThat(tensor.getLong(at)).isEqualTo(number * TENSORS + i);
            }
        }
        assertThat(checkpoint.tensor("tied").storage()).isSameAs(checkpoint.tensor("t0").storage());
        return number;
    }

    private static long numberOf(Follower follower) throws IOException {
        try (Follower.Lease lease = follower.lease()) {
            return numberOf(lease.checkpoint());
        }
    }

    @Test
    void aLeaseStaysOnItsVersionAndTheNextOneIsOnTheNewest() throws IOException {
        publish(name, 1);
        try (Follower follower = PublishedCheckpoint.follow(name)) {
            Follower.Lease first = follower.lease();
            Follower.Lease second = follower.lease();
            assertThat(second.checkpoint()).isSameAs(first.checkpoint());
            publish(name, 2);
            assertThat(numberOf(follower)).isEqualTo(2);
            Tensor old = first.checkpoint().tensor("t0");
            first.close();
            first.close();
            assertThat(old.getLong(0)).isEqualTo(TENSORS);
            second.close();
            assertThatIllegalStateException().isThrownBy(() -> old.getLong(0));
            assertThatIllegalStateException().isThrownBy(second::checkpoint).withMessageContaining("lease");
        }
    }

    @Test
    void aVersionThatNobodyLeasesIsClosedWhenTheNextOneIsOpened() throws IOException {
        publish(name, 1);
        try (Follower follower = PublishedCheckpoint.follow(name)) {
            for (long number = 2; number < 20; number++) {
                publish(name, number);
                assertThat(numberOf(follower)).isEqualTo(number);
            }
            assertThat(Proc.mappings(name)).isOne();
        }
        assertThat(Proc.mappings(name)).isZero();
    }

    @Test
    void aVersionThatSomebodyClosedIsOpenedAgain() throws IOException {
        publish(name, 1);
        try (Follower follower = PublishedCheckpoint.follow(name)) {
            try (Follower.Lease lease = follower.lease(); Checkpoint closed = lease.checkpoint()) {
                assertThat(numberOf(closed)).isEqualTo(1);
            }
            assertThat(numberOf(follower)).isEqualTo(1);
            publish(name, 2);
            assertThat(numberOf(follower)).isEqualTo(2);
        }
    }

    @Test
    void theLastVersionStaysWhileNothingHasTheName() throws IOException {
        publish(name, 1);
        try (Follower follower = PublishedCheckpoint.follow(name)) {
            PublishedCheckpoint.unpublish(name);
            assertThat(numberOf(follower)).isEqualTo(1);
            assertThat(numberOf(follower)).isEqualTo(1);
            publish(name, 2);
            assertThat(numberOf(follower)).isEqualTo(2);
        }
    }

    @Test
    void whatCannotBeOpenedIsToldAndTriedAgain() throws IOException {
        publish(name, 1);
        try (Follower follower = PublishedCheckpoint.follow(name); Follower.Lease lease = follower.lease()) {
            PublishedCheckpoint.unpublish(name);
            SharedMemory.create(name, 1000).close();
            assertThatExceptionOfType(FormatException.class).isThrownBy(follower::lease);
            assertThat(numberOf(lease.checkpoint())).isEqualTo(1);
            SharedMemory.unlink(name);
            publish(name, 2);
            assertThat(numberOf(follower)).isEqualTo(2);
        }
    }

    @Test
    void afterTheFollowerIsClosedLeasesStayGoodAndNoneAreGiven() throws IOException {
        publish(name, 1);
        Follower follower = PublishedCheckpoint.follow(name);
        try (Follower.Lease lease = follower.lease()) {
            follower.close();
            follower.close();
            assertThat(numberOf(lease.checkpoint())).isEqualTo(1);
            assertThatIllegalStateException().isThrownBy(follower::lease).withMessageContaining(name);
        }
        assertThat(Proc.mappings(name)).isZero();
    }

    @Test
    void threadsSeeWholeVersionsOfWhichNoneIsOlderThanOneSeenBefore() throws Exception {
        publish(name, 1);
        AtomicLong published = new AtomicLong(1);
        AtomicBoolean over = new AtomicBoolean();
        try (Follower follower = PublishedCheckpoint.follow(name);
                ExecutorService threads = Executors.newFixedThreadPool(4)) {
            Callable<Long> reader = () -> {
                long seen = 0;
                while (!over.get() || seen < published.get()) {
                    long atLeast = Math.max(seen, published.get());
                    seen = numberOf(follower);
                    assertThat(seen).isGreaterThanOrEqualTo(atLeast);
                }
                return seen;
            };
            List<Future<Long>> readers = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                readers.add(threads.submit(reader));
            }
            try {
                for (long number = 2; number <= 100; number++) {
                    publish(name, number);
                    published.set(number);
                }
            } finally {
                over.set(true);
            }
            for (Future<Long> each : readers) {
                assertThat(each.get()).isEqualTo(100);
            }
            assertThat(Proc.mappings(name)).isOne();
        }
        assertThat(Proc.mappings(name)).isZero();
    }

    /// Publishes version after version, and says after each which one it was.
    static final class Publisher {
        @SuppressWarnings("SystemOut")
        public static void main(String[] args) throws IOException {
            for (long number = Long.parseLong(args[1]);; number++) {
                publish(args[0], number);
                System.out.println(number);
            }
        }
    }

    @Test
    void aPublisherThatIsKilledLeavesTheOldVersionOrTheNewOneAndNothingElse() throws Exception {
        Random random = new Random(20261121);
        publish(name, 1);
        long last = 1;
        List<Long> pids = new ArrayList<>();
        try (Follower follower = PublishedCheckpoint.follow(name)) {
            for (int round = 0; round < 5; round++) {
                try (PeerJvm publisher = PeerJvm.start(Publisher.class, name, "" + (last + 1))) {
                    pids.add(publisher.pid());
                    long said = Long.parseLong(publisher.answer());
                    for (int more = random.nextInt(10); more > 0; more--) {
                        assertThat(numberOf(follower)).isGreaterThanOrEqualTo(said);
                        said = Long.parseLong(publisher.answer());
                    }
                    LockSupport.parkNanos(random.nextInt(5_000_000));
                    publisher.kill();
                    for (String line = publisher.answer(); !line.equals("null"); line = publisher.answer()) {
                        said = Long.parseLong(line);
                    }
                    last = numberOf(follower);
                    assertThat(last).isBetween(said, said + 1);
                }
                try (Checkpoint c = PublishedCheckpoint.attach(name)) {
                    assertThat(numberOf(c)).isEqualTo(last);
                    assertThat(c.verify().isIntact()).isTrue();
                }
            }
        }
        SharedMemory.gc();
        assertThat(leftBy(pids)).isEmpty();
        assertThat(PublishedCheckpoint.unpublish(name)).isTrue();
        assertThat(leftBy(pids)).isEmpty();
    }

    @Test
    void publishersOfOneNameReplaceEachOthersVersions() throws Exception {
        long other = 1_000_000;
        publish(name, 0);
        try (Follower follower = PublishedCheckpoint.follow(name);
                PeerJvm one = PeerJvm.start(Publisher.class, name, "1");
                PeerJvm another = PeerJvm.start(Publisher.class, name, "" + other)) {
            assertThat(one.answer()).isEqualTo("1");
            assertThat(another.answer()).isEqualTo("" + other);
            Set<Boolean> seen = new HashSet<>();
            while (seen.size() < 2) {
                seen.add(numberOf(follower) < other);
                one.answer();
                another.answer();
            }
            one.kill();
            another.kill();
            long last = numberOf(follower);
            try (Checkpoint c = PublishedCheckpoint.attach(name)) {
                assertThat(numberOf(c)).isEqualTo(last);
                assertThat(c.verify().isIntact()).isTrue();
            }
            SharedMemory.gc();
            assertThat(leftBy(List.of(one.pid(), another.pid()))).isEmpty();
        }
    }

    /// What killed publishers left. (Others may work in `/dev/shm` at the same time.)
    private List<String> leftBy(List<Long> pids) throws IOException {
        try (Stream<Path> files = Files.walk(SHM)) {
            return files.map(SHM::relativize).map(Path::toString)
                    .filter(file -> pids.stream().anyMatch(pid -> file.contains("/" + pid + "-")))
                    .toList();
        }
    }
}
