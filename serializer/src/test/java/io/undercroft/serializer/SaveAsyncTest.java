package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNoException;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.FileStorage;
import io.undercroft.mmap.MapMode;
import io.undercroft.serializer.FailingDisk.Failure;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class SaveAsyncTest {
    private static final int CHUNK = 1 << 16;
    private static final int MEBIBYTE = 1 << 20;
    private static final SaveOptions OPTIONS = SaveOptions.defaults().chunkSize(CHUNK);

    @TempDir
    Path folder;
    private Path path;

    @BeforeEach
    void nameTheFile() {
        path = folder.resolve("a.croft");
    }

    /// Memory that is copied, memory that is frozen, and both in one state.
    static List<List<Allocator>> memories() {
        return List.of(List.of(Allocator.offHeap()), List.of(AnonymousMemory.freezableAllocator()),
                List.of(AnonymousMemory.freezableAllocator(), Allocator.heap(), Allocator.offHeap()));
    }

    /// Tensors of a mebibyte and a few more bytes.
    private static Map<String, Object> state(List<Allocator> memory, int count) {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            state.put("t" + i, Tensor.zeros(memory.get(i % memory.size()), DType.INT64, MEBIBYTE / 8 + i));
        }
        return state;
    }

    private static Tensor whole(Storage storage) {
        return Tensor.of(storage, DType.UINT8, 0, Shape.of(storage.nbytes()), 1);
    }

    private static void fill(Map<String, Object> state, long value) {
        state.values().forEach(tensor -> ((Tensor) tensor).fill(value));
    }

    private void assertAll(Path file, long value) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            for (String name : checkpoint.names()) {
                Tensor tensor = checkpoint.tensor(name);
                assertThat(tensor.equal(Tensor.full(tensor.dtype(), value, tensor.shape().toArray()))).as(name)
                        .isTrue();
            }
        }
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.sorted().toList();
        }
    }

    /// Slices, ties, holes that no tensor reaches, zeros, no elements, no bytes.
    private static Map<String, Object> manifold(Allocator memory) {
        Tensor large = Tensor.zeros(memory, DType.UINT8, 3 * MEBIBYTE + 11);
        byte[] noise = noise(MEBIBYTE, 1);
        MemorySegment.copy(noise, 0, large.storage().segment(), ValueLayout.JAVA_BYTE, 5 * CHUNK, noise.length);
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("step", 3L);
        state.put("start", Tensor.of(large.storage(), DType.UINT8, 7, Shape.of(9), 1));
        state.put("end", Tensor.of(large.storage(), DType.UINT8, 2 * MEBIBYTE, Shape.of(MEBIBYTE + 11), 1));
        state.put("some", Tensor.of(large.storage(), DType.UINT8, 6 * CHUNK + 1, Shape.of(10), CHUNK));
        state.put("slice", Tensor.of(large.storage().slice(5 * CHUNK + 3, 4 * CHUNK), DType.UINT8, 0,
                Shape.of(4 * CHUNK), 1));
        state.put("tied", List.of(large, Tensor.of(1f, 2f), Tensor.meta(DType.FLOAT32, 100)));
        state.put("empty", Tensor.zeros(memory, DType.FLOAT32, 0));
        state.put("hole", Tensor.of(Storage.allocate(4 * MEBIBYTE, memory).fill((byte) 1), DType.UINT8, MEBIBYTE + 3,
                Shape.of(CHUNK), 1));
        return state;
    }

    @ParameterizedTest
    @MethodSource("memories")
    void theBytesAreThoseOfASaveInTheForeground(List<Allocator> memory) throws IOException {
        Map<String, Object> state = manifold(memory.getFirst());
        Path other = folder.resolve("b.croft");
        DedupReport report = Checkpoint.save(path, state, OPTIONS).dedup().orElseThrow();
        try (PendingSave save = Checkpoint.saveAsync(other, state, OPTIONS)) {
            assertThat(save.join().dedup()).contains(report);
            assertThat(save.join().files()).containsExactly(other);
        }
        assertThat(other).hasSameBinaryContentAs(path);

        ((Tensor) ((List<?>) state.get("tied")).getFirst()).storage().set(2 * MEBIBYTE, (byte) 5);
        report = CroftFile.open(path).commit(state, OPTIONS);
        try (PendingSave save = CroftFile.open(other).commitAsync(state, OPTIONS)) {
            assertThat(save.join().dedup()).contains(report);
        }
        assertThat(other).hasSameBinaryContentAs(path);
    }

    /// As a training loop does: the state is written to all the time, but while the snapshot is taken.
    @ParameterizedTest
    @MethodSource("memories")
    void whatIsWrittenAfterwardsIsNotInTheFile(List<Allocator> memory) throws IOException {
        Map<String, Object> state = state(memory, 6);
        try (StagingMemory kept = new StagingMemory()) {
            for (long round = 1; round <= 5; round++) {
                fill(state, round);
                Path file = folder.resolve(round + ".croft");
                try (PendingSave save = Checkpoint.saveAsync(file, state, OPTIONS.stagingMemory(kept))) {
                    do {
                        fill(state, -round);
                    } while (!save.isDone());
                }
                assertAll(file, round);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("memories")
    void snapshotsThatAreAppendedWhileTheStateChangesAreAllThere(List<Allocator> memory) throws IOException {
        Map<String, Object> state = state(memory, 4);
        Checkpoint.save(path, state, OPTIONS);
        try (CroftFile file = CroftFile.open(path)) {
            for (long round = 1; round <= 8; round++) {
                Tensor changed = (Tensor) state.get("t" + round % 4);
                changed.fill(round);
                try (PendingSave save = file.commitAsync(state, OPTIONS)) {
                    changed.fill(-1L);
                    assertThat(save.join().dedup().orElseThrow().written()).isLessThan(2L * MEBIBYTE);
                }
            }
        }
        for (long round = 1; round <= 8; round++) {
            try (Checkpoint checkpoint = Checkpoint.open(path, OpenOptions.defaults().snapshot(round + 1))) {
                assertThat(checkpoint.tensor("t" + round % 4).getLong(77)).isEqualTo(round);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("memories")
    void savesThatGoOnAtTheSameTimeEachHaveTheirOwnBytes(List<Allocator> memory) throws Exception {
        Map<String, Object> state = state(memory, 3);
        HeldDisk disk = new HeldDisk();
        List<PendingSave> saves = new ArrayList<>();
        try (StagingMemory kept = new StagingMemory()) {
            for (long round = 1; round <= 4; round++) {
                fill(state, round);
                saves.add(Checkpoint.saveAsync(disk, folder.resolve(round + ".croft"), state,
                        OPTIONS.stagingMemory(kept)));
            }
            fill(state, 0);
            disk.letGo();
        }
        for (PendingSave save : saves) {
            save.close();
        }
        for (long round = 1; round <= 4; round++) {
            assertAll(folder.resolve(round + ".croft"), round);
        }
    }

    @ParameterizedTest
    @MethodSource("memories")
    void afterTheCallTheStateMayBeTornApart(List<Allocator> memory) throws IOException {
        Map<String, Object> state = state(memory, 3);
        fill(state, 4);
        List<Storage> storages = state.values().stream().map(tensor -> ((Tensor) tensor).storage()).toList();
        PendingSave save = Checkpoint.saveAsync(path, state, OPTIONS);
        storages.forEach(Storage::release);
        state.clear();
        state.put("late", 1L);
        save.close();
        assertAll(path, 4);
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.names()).hasSize(3);
        }
    }

    @Test
    void theCheckpointThatTheTensorsCameFromMayBeClosed() throws IOException {
        Map<String, Object> state = state(List.of(Allocator.offHeap()), 3);
        fill(state, 5);
        Checkpoint.save(path, state, OPTIONS);
        Path copy = folder.resolve("copy.croft");
        PendingSave save;
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            save = Checkpoint.saveAsync(copy, checkpoint.state(), OPTIONS);
        }
        save.close();
        assertThat(copy).hasSameBinaryContentAs(path);
    }

    /// The bytes of the file are first read when the state was written to.
    @ParameterizedTest
    @MethodSource("memories")
    void aFileOfAnotherFormatHasTheStateOfTheCall(List<Allocator> memory) throws Exception {
        Path raw = folder.resolve("a.raw");
        Tensor state = Tensor.zeros(memory.getFirst(), DType.UINT8, 3);
        state.copyFrom(Tensor.of((byte) 1, (byte) 2, (byte) 3).view(DType.UINT8));
        CountDownLatch changed = new CountDownLatch(1);
        ForwardingDisk disk = new ForwardingDisk() {
            @Override
            void before(Operation operation) throws IOException {
                try {
                    changed.await();
                } catch (InterruptedException e) {
                    throw new IOException(e);
                }
            }
        };
        try (PendingSave save = Checkpoint.saveAsync(disk, raw, state, SaveOptions.defaults())) {
            assertThatExceptionOfType(LockedException.class).isThrownBy(() -> Checkpoint.saveAsync(raw, state));
            state.fill(9);
            changed.countDown();
            SaveReport report = save.join();
            assertThat(report.format()).isEqualTo("raw");
            assertThat(report.files()).containsExactly(raw);
            assertThat(report.nbytes()).isEqualTo(Files.size(raw)).isEqualTo(save.doneBytes())
                    .isEqualTo(save.totalBytes());
            assertThat(report.dedup()).isEmpty();
        }
        try (Checkpoint c = Checkpoint.open(raw)) {
            assertThat(c.tensor("bytes").toLongArray()).containsExactly(1, 2, 3);
        }
        assertThat(files()).containsExactly(raw);
    }

    @Test
    void aFileOfAnotherFormatIsCancelledUntilItHasItsName() throws Exception {
        Path raw = folder.resolve("a.raw");
        HeldDisk disk = new HeldDisk();
        PendingSave save = Checkpoint.saveAsync(disk, raw, Tensor.zeros(DType.UINT8, 5), SaveOptions.defaults());
        disk.awaitForce();
        assertThat(save.cancel()).isTrue();
        disk.letGo();

        for (int i = 0; i < 2; i++) {
            assertThatExceptionOfType(CancellationException.class).isThrownBy(save::join)
                    .withMessage("the save was cancelled; no file was made or changed");
        }
        assertThat(files()).isEmpty();
    }

    @Test
    void aFileOfAnotherFormatThatCannotBeWrittenIsReportedByTheSave() throws Exception {
        Path raw = folder.resolve("a.raw");
        Checkpoint.save(raw, Tensor.zeros(DType.UINT8, 5));
        byte[] before = Files.readAllBytes(raw);
        ForwardingDisk disk = new ForwardingDisk() {
            @Override
            void before(Operation operation) throws IOException {
                if (operation == Operation.WRITE) {
                    throw new IOException("the disk is broken");
                }
            }
        };
        PendingSave save = Checkpoint.saveAsync(disk, raw, Tensor.zeros(DType.UINT8, 7), SaveOptions.defaults());

        assertThatIOException().isThrownBy(save::join).withMessageContaining("the disk is broken");
        assertThat(raw).hasBinaryContent(before);
        assertThat(files()).containsExactly(raw);
    }

    @Test
    void progressGoesFromNothingToAll() throws Exception {
        Map<String, Object> state = state(memories().getLast(), 6);
        fill(state, 1);
        HeldDisk disk = new HeldDisk();
        try (PendingSave save = Checkpoint.saveAsync(disk, path, state, OPTIONS)) {
            assertThat(save.totalBytes()).isEqualTo(6L * MEBIBYTE + 15 * 8);
            assertThat(save.doneBytes()).isLessThanOrEqualTo(save.totalBytes());
            disk.awaitForce();
            assertThat(save.doneBytes()).isEqualTo(save.totalBytes());
            assertThat(save.isDone()).isFalse();
            disk.letGo();
            save.join();
            assertThat(save.isDone()).isTrue();
            assertThat(save).hasToString(
                    "save of " + path + ", " + save.totalBytes() + " of " + save.totalBytes() + " bytes, ended");
        }
    }

    @ParameterizedTest
    @MethodSource("memories")
    void aSaveThatIsCancelledAtAnyPointLeavesTheFileAsItWas(List<Allocator> memory) throws IOException {
        Map<String, Object> state = state(memory, 8);
        fill(state, 1);
        Checkpoint.save(path, state, OPTIONS);
        byte[] before = Files.readAllBytes(path);
        Random random = new Random(3);
        int cancelled = 0;
        try (StagingMemory kept = new StagingMemory(); CroftFile file = CroftFile.open(path)) {
            SaveOptions options = OPTIONS.stagingMemory(kept);
            for (int round = 0; round < 15; round++) {
                fill(state, round + 2);
                boolean appends = random.nextBoolean();
                PendingSave save = appends
                        ? file.commitAsync(state, options)
                        : Checkpoint.saveAsync(path, state, options);
                long point = (long) (save.totalBytes() * 1.2 * random.nextDouble());
                while (save.doneBytes() < Math.min(point, save.totalBytes()) && !save.isDone()) {
                    Thread.onSpinWait();
                }
                boolean inTime = save.cancel();
                save.close();
                if (inTime) {
                    cancelled++;
                    assertThatExceptionOfType(CancellationException.class).isThrownBy(save::join);
                    assertThat(Files.readAllBytes(path)).isEqualTo(before);
                } else {
                    assertThatNoException().isThrownBy(save::join);
                    assertAll(path, round + 2);
                    before = Files.readAllBytes(path);
                }
                assertThat(files()).containsExactly(path);
            }
        }
        assertThat(cancelled).isPositive();
    }

    @Test
    void aSaveIsCancelledUntilItsFileHasItsName() throws Exception {
        Map<String, Object> state = state(memories().getLast(), 2);
        HeldDisk disk = new HeldDisk();
        PendingSave save = Checkpoint.saveAsync(disk, path, state, OPTIONS);
        disk.awaitForce();
        assertThat(save.cancel()).isTrue();
        assertThat(save.cancel()).isTrue();
        disk.letGo();

        assertThatNoException().isThrownBy(save::close);
        assertThat(files()).isEmpty();
        try (PendingSave next = Checkpoint.saveAsync(path, state, OPTIONS)) {
            next.join();
            assertThat(next.cancel()).isFalse();
        }
        assertThat(files()).containsExactly(path);
    }

    @Test
    void aSecondSaveToTheSameFileIsRefusedUntilTheFirstHasEnded() throws IOException {
        Map<String, Object> state = state(memories().getFirst(), 1);
        for (int attempt = 0; attempt < 2; attempt++) {
            HeldDisk disk = new HeldDisk();
            try (PendingSave save = Checkpoint.saveAsync(disk, path, state, OPTIONS)) {
                assertThatExceptionOfType(LockedException.class).isThrownBy(() -> Checkpoint.saveAsync(path, state))
                        .withMessageContaining("pid " + ProcessHandle.current().pid());
                assertThatExceptionOfType(LockedException.class).isThrownBy(() -> Checkpoint.save(path, state));
                disk.letGo();
                save.join();
            }
            assertThat(files()).containsExactly(path);
        }
        HeldDisk disk = new HeldDisk();
        try (PendingSave save = CroftFile.open(disk, path, SaveOptions.defaults(), OpenOptions.defaults())
                .commitAsync(state, OPTIONS)) {
            assertThatExceptionOfType(LockedException.class)
                    .isThrownBy(() -> CroftFile.open(path).commitAsync(state, OPTIONS))
                    .withMessageContaining("by this process, 'pid " + ProcessHandle.current().pid())
                    .withMessageContaining("join the PendingSave of the save before");
            disk.letGo();
            save.join();
        }
    }

    /// Whether the call says it or the handle depends on when it happens.
    @ParameterizedTest
    @EnumSource
    void aDiskThatFailsCostsNothing(Failure failure) throws IOException {
        Map<String, Object> state = state(memories().getLast(), 2);
        fill(state, 1);
        for (int operation = 1;; operation++) {
            Files.deleteIfExists(path);
            Checkpoint.save(path, state, OPTIONS);
            byte[] before = Files.readAllBytes(path);
            fill(state, operation + 1);
            FailingDisk disk = new FailingDisk(operation, failure);
            try (CroftFile file = CroftFile.open(disk, path, OPTIONS, OpenOptions.defaults());
                    PendingSave save = operation % 2 == 0
                            ? file.commitAsync(state, OPTIONS)
                            : Checkpoint.saveAsync(disk, path, state, OPTIONS)) {
                save.join();
            } catch (IOException e) {
                assertThat(disk.hasFailed()).as("operation %d: %s", operation, e).isTrue();
                try (Checkpoint checkpoint = Checkpoint.open(path)) {
                    assertThat(checkpoint.tensor("t0").getLong(0)).isIn(1L, (long) operation, operation + 1L);
                }
                Checkpoint.saveAsync(path, state, OPTIONS).close();
                continue;
            }
            assertThat(disk.hasFailed()).isFalse();
            assertThat(operation).isGreaterThan(10);
            assertThat(before).isNotEmpty();
            return;
        }
    }

    @Test
    void aFailureIsToldOnce() throws IOException {
        Map<String, Object> state = state(memories().getFirst(), 1);
        PendingSave untold = failing(state);
        assertThatExceptionOfType(IOException.class).isThrownBy(untold::close).withMessageContaining("no space left");
        assertThatNoException().isThrownBy(untold::close);
        assertThat(untold.cancel()).isFalse();

        PendingSave told = failing(state);
        assertThatExceptionOfType(IOException.class).isThrownBy(told::join);
        assertThatExceptionOfType(IOException.class).isThrownBy(told::join);
        assertThatNoException().isThrownBy(told::close);
        assertThat(files()).isEmpty();
    }

    /// The third operation is the first write.
    private PendingSave failing(Map<String, Object> state) throws IOException {
        return Checkpoint.saveAsync(new FailingDisk(3, Failure.ONCE), path, state, OPTIONS);
    }

    @Test
    void whatCannotBeWrittenToIsRefusedAtOnce() throws IOException {
        Map<String, Object> state = state(memories().getFirst(), 1);
        assertThatExceptionOfType(NoSuchFileException.class)
                .isThrownBy(() -> Checkpoint.saveAsync(folder.resolve("none/a.croft"), state))
                .withMessageContaining("make it first");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.saveAsync(path, Map.of("rng", new Object())))
                .withMessageContaining("the value at 'rng");
        Files.writeString(path, "no checkpoint");
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> CroftFile.open(path).commitAsync(state, OPTIONS));
        assertThat(files()).containsExactly(path);
    }

    @ParameterizedTest
    @ValueSource(longs = {1L << 45, 1L << 55})
    void wantOfMemorySaysHowMuchWasAskedFor(long nbytes) throws IOException {
        Map<String, Object> state = state(memories().getLast(), 2);
        Checkpoint.save(path, state, OPTIONS);
        byte[] before = Files.readAllBytes(path);
        // Nothing is read before there is memory.
        state.put("vast", whole(Storage.ofAddress(1 << 12, nbytes)));

        assertThatExceptionOfType(StagingMemoryException.class)
                .isThrownBy(() -> Checkpoint.saveAsync(path, state, OPTIONS)).withMessageContaining("bytes are copied")
                .satisfies(e -> assertThat(e.wanted()).isBetween(nbytes, nbytes + 3 * MEBIBYTE));
        state.remove("vast");
        assertThat(path).hasBinaryContent(before);
        assertThat(files()).containsExactly(path);
        Checkpoint.saveAsync(path, state, OPTIONS).close();
    }

    @Test
    void memoryOfOneThreadIsSavedByThatThread() throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            Storage storage = Storage.wrap(arena.allocate(10 * MEBIBYTE)).fill((byte) 3);
            try (PendingSave save = Checkpoint.saveAsync(path, Map.of("a", whole(storage)))) {
                storage.fill((byte) 4);
                save.join();
            }
        }
        assertAll(path, 3);
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void aFileThatWasCutIsNoSnapshot() throws IOException {
        Path mapped = Files.write(folder.resolve("mapped"), new byte[3 * MEBIBYTE]);
        Storage storage = FileStorage.open(mapped, MapMode.PRIVATE);
        try (FileChannel file = FileChannel.open(mapped, StandardOpenOption.WRITE)) {
            file.truncate(CHUNK);
        }
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> Checkpoint.saveAsync(path, Map.of("a", whole(storage))))
                .withMessageContaining("it was cut");
        storage.release();
        assertThat(files()).containsExactly(mapped);
    }

    @ParameterizedTest
    @ValueSource(strings = {"end", "exit"})
    void theEndOfTheJvmWaitsForTheSave(String how) throws Exception {
        try (PeerJvm peer = PeerJvm.start(PendingSavePeer.class, path.toString(), how)) {
            assertThat(peer.answer()).isIn("true", "false");
            peer.endsWell();
        }
        assertThat(files()).containsExactly(path);
        assertAll(path, 7);
    }
}
