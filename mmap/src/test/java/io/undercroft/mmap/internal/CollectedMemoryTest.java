package io.undercroft.mmap.internal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Storage;
import io.undercroft.testsupport.PeerJvm;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@EnabledOnOs(OS.LINUX)
class CollectedMemoryTest {
    private static final long MIB = 1 << 20;

    private final Libc libc = Libc.find().orElseThrow();
    private final CollectedMemory memory = new CollectedMemory(64 * MIB);

    @ParameterizedTest
    @ValueSource(longs = {1, 2 * MIB, 2 * MIB + 1, 3 * MIB, (5 << 20) + 77})
    void bytesAreZeroAlignedAndExactlyAsMany(long nbytes) {
        MemorySegment bytes = memory.allocate(libc, nbytes);

        assertThat(bytes.byteSize()).isEqualTo(nbytes);
        assertThat(bytes.address() % Storage.ALIGNMENT).isZero();
        assertThat(bytes.mismatch(MemorySegment.ofArray(new byte[(int) nbytes]))).isEqualTo(-1);
        bytes.fill((byte) 1);
    }

    @Test
    void aPageIsTakenWhenItIsTouched() throws IOException {
        MemorySegment bytes = memory.allocate(libc, 32 * MIB);
        assertThat(Proc.presentBytes(bytes)).isZero();

        bytes.set(JAVA_BYTE, 5 * MIB, (byte) 1);
        assertThat(Proc.presentBytes(bytes)).isBetween(libc.pageSize(), 2 * MIB);
    }

    @Test
    void memoryThatIsDroppedIsUnmappedAtTheLimit() throws IOException {
        List<Long> addresses = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            MemorySegment bytes = memory.allocate(libc, 16 * MIB);
            bytes.set(JAVA_BYTE, 0, (byte) 1);
            addresses.add(bytes.address());
        }
        // Each is zero again, so those of equal addresses were unmapped between.
        assertThat(addresses.stream().distinct().count()).isLessThan(100);
    }

    @Test
    void reachableMemoryStaysAndWhatIsAboveTheLimitIsRefused() {
        MemorySegment slice = memory.allocate(libc, 32 * MIB).asSlice(4096, 5);
        List<MemorySegment> others = new ArrayList<>(List.of(memory.allocate(libc, 32 * MIB)));
        slice.set(JAVA_BYTE, 4, (byte) 7);

        assertThatThrownBy(() -> memory.allocate(libc, 1)).isInstanceOf(OutOfMemoryError.class)
                .hasMessageContaining("mapped: " + 64 * MIB).hasMessageContaining("limit: " + 64 * MIB);
        assertThat(slice.get(JAVA_BYTE, 4)).isEqualTo((byte) 7);
        assertThat(others.removeLast().get(JAVA_BYTE, 0)).isZero();
        assertThat(memory.allocate(libc, 32 * MIB).byteSize()).isEqualTo(32 * MIB);
        assertThat(slice.get(JAVA_BYTE, 4)).isEqualTo((byte) 7);
    }

    @Test
    void whatTheSystemRefusesDoesNotCount() {
        CollectedMemory large = new CollectedMemory(1L << 60);
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> large.allocate(libc, 1L << 60)).isInstanceOf(OutOfMemoryError.class)
                    .hasCauseInstanceOf(ErrnoException.class).hasStackTraceContaining("ENOMEM");
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {64 * MIB + 1, 1L << 62, Long.MAX_VALUE})
    void moreThanTheLimitIsRefusedAtOnce(long nbytes) {
        assertThatThrownBy(() -> memory.allocate(libc, nbytes)).isInstanceOf(OutOfMemoryError.class)
                .hasMessageContaining(String.valueOf(nbytes)).hasNoCause();
    }

    @Test
    void anInterruptIsKeptAndTheMemoryIsAllocated() {
        try {
            for (int i = 0; i < 5; i++) {
                Thread.currentThread().interrupt();
                assertThat(memory.allocate(libc, 32 * MIB).byteSize()).isEqualTo(32 * MIB);
            }
            assertThat(Thread.currentThread().isInterrupted()).isTrue();
        } finally {
            Thread.interrupted();
        }
    }

    @Test
    void threadsShareTheLimit() throws Exception {
        Callable<Boolean> dropping = () -> {
            boolean isZero = true;
            for (int i = 0; i < 20; i++) {
                MemorySegment bytes = memory.allocate(libc, 4 * MIB);
                isZero &= bytes.get(JAVA_BYTE, MIB) == 0;
                bytes.set(JAVA_BYTE, MIB, (byte) 1);
            }
            return isZero;
        };
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            for (Future<Boolean> each : threads.invokeAll(List.of(dropping, dropping, dropping, dropping))) {
                assertThat(each.get()).isTrue();
            }
        }
    }

    @Test
    void largeStoragesAreMappedAfterTheFirstOnes() throws IOException {
        Storage.allocate(33 * MIB);
        Storage storage = Storage.allocate(16 * MIB);
        MemorySegment bytes = storage.segment();
        assertThat(Proc.presentBytes(bytes)).isZero();

        storage.release();
        assertThat(bytes.get(JAVA_BYTE, 0)).isZero();
    }

    @Test
    void theLimitIsThatOfTheJvm() throws Exception {
        // Of these, the JDK has filled and counted 32 MiB.
        assertThat(storagesUpTo100Mib("--enable-native-access=ALL-UNNAMED")).isEqualTo("16");
    }

    @ParameterizedTest
    @ValueSource(strings = {"--illegal-native-access=deny", "--limit-modules=java.base"})
    void theJdkAllocatesWithoutNativeAccessAndWithoutTheModuleThatKnowsTheLimit(String option) throws Exception {
        assertThat(storagesUpTo100Mib(option)).isEqualTo("12");
    }

    /// How many storages of 8 MiB there can be.
    private static String storagesUpTo100Mib(String option) throws Exception {
        List<String> lines = PeerJvm
                .startWith(List.of(option, "-XX:MaxDirectMemorySize=100m"), StoragesUpToTheLimit.class).lines();
        List<String> ends = lines.subList(lines.size() - 3, lines.size());
        assertThat(ends).last().isEqualTo("many were dropped");
        assertThat(ends.get(1)).isEqualTo("refused: there are no " + 8 * MIB + " bytes available off the heap; raise "
                + "-XX:MaxDirectMemorySize, or use AnonymousMemory.allocator()");
        return ends.getFirst();
    }
}
