package io.undercroft.properties.processes;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Scratch;
import io.undercroft.storage.Storage;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// Storages in the hands of several threads, and of nobody. `-Drace.millis=N` races longer; `property-tests/run races`
/// does so by itself.
class StorageRaceTest {
    private static final Duration EACH = Duration.ofMillis(Integer.getInteger("race.millis", 300));
    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Duration PAUSE = Duration.ofMillis(20);
    private static final long SEED = 42;

    @ParameterizedTest
    @EnumSource
    void whoeverHoldsAReferenceIsNeverRefused(Backing backing) throws IOException, InterruptedException {
        try (Scratch scratch = Scratch.make()) {
            assertThat(new StorageRace(backing, false, scratch.directory()).run(EACH, SEED)).isPositive();
        }
    }

    @ParameterizedTest
    @EnumSource
    void bytesThatMoveAreGivenBackOnceAndReadAsBytesOrNotAtAll(Backing backing)
            throws IOException, InterruptedException {
        try (Scratch scratch = Scratch.make()) {
            assertThat(new StorageRace(backing, true, scratch.directory()).run(EACH, SEED)).isPositive();
        }
    }

    /// In a JVM of its own, so that a crash would be seen for what it is.
    @Test
    void theJvmSurvivesThreadsThatReadThroughSegmentsOfFreedStorages() throws IOException, InterruptedException {
        List<String> options = new ArrayList<>(PeerJvm.NATIVE);
        // All compilers, as each has its own code for segments.
        options.addAll(List.of("-Xmx256m", "-XX:-CreateCoredumpOnCrash", "-XX:TieredStopAtLevel=4"));
        try (PeerJvm peer = PeerJvm.startWith(options, SegmentRace.class, Long.toString(EACH.toMillis()))) {
            assertThat(String.join("\n", peer.lines())).contains("refused");
        }
    }

    @ParameterizedTest
    @EnumSource
    void whatNobodyReleasesIsGivenBackByTheCollector(Backing backing) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            var ledger = new Ledger();
            for (int i = 0; i < 100; i++) {
                Storage.allocate(backing.usualSize(), n -> ledger.enter(backing.allocate(n, scratch.directory())));
            }
            collectUntil(() -> ledger.releases().stream().allMatch(count -> count == 1));
            assertThat(ledger.releases()).hasSize(100).containsOnly(1);
        }
    }

    @Test
    void aSliceThatIsReachableKeepsItsBase() {
        var ledger = new Ledger();
        List<Storage> slices = new ArrayList<>();
        slices.add(Storage.over(ledger.enter(Backing.ARENA.allocate(64, Path.of("")))).slice(8, 8));
        var unrelated = new Ledger();
        Storage.over(unrelated.enter(Backing.ARENA.allocate(64, Path.of(""))));
        collectUntil(() -> unrelated.releases().equals(List.of(1)));
        assertThat(ledger.releases()).containsExactly(0);
        assertThat(slices.getFirst().get(0)).isZero();
        slices.clear();
        collectUntil(() -> ledger.releases().equals(List.of(1)));
        assertThat(ledger.releases()).containsExactly(1);
    }

    private static void collectUntil(BooleanSupplier done) {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (!done.getAsBoolean() && System.nanoTime() < end) {
            System.gc();
            // A collection stops whoever gives back, so one after the other would leave it no time.
            LockSupport.parkNanos(PAUSE.toNanos());
        }
    }
}
