package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.FileTarget;
import io.undercroft.serializer.internal.disk.RegularFiles;
import io.undercroft.serializer.internal.disk.Target.Replacing;
import io.undercroft.serializer.spi.StoreTarget.Creation;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// Saves of so much that several threads write it.
@Isolated("looks for threads that saves leave behind")
class LargeSavesTest {
    private static final int LARGE = 5_000_000;
    private static final int COUNT = 8;

    @TempDir
    Path folder;
    private Path path;

    @BeforeEach
    void nameTheFile() {
        path = folder.resolve("a.croft");
    }

    /// They are gone when a save returns, however it ends.
    @AfterEach
    void noThreadIsLeft() {
        assertThat(Thread.getAllStackTraces().keySet()).extracting(Thread::getName)
                .noneMatch(name -> name.startsWith("undercroft-save"));
    }

    private static Map<String, Object> state(long seed) {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < COUNT; i++) {
            state.put("layer" + i, Tensor.of(noise(LARGE, seed + i)));
        }
        return state;
    }

    /// Bytes in all the relations that bytes can have to each other, in an arena.
    private static Map<String, Object> variety(Arena arena) {
        Map<String, Object> state = new LinkedHashMap<>();
        for (int i = 0; i < 200; i++) {
            state.put("small" + i, tensor(noise(1 + 40 * i, i % 5 == 0 ? 1 : i), arena));
        }
        for (int i = 0; i < 2 * COUNT; i++) {
            byte[] bytes = noise(LARGE - 70_000 * i, i % 3 == 0 ? 3 : i);
            Arrays.fill(bytes, 1 << 20, (1 + i % 3) << 20, (byte) 0);
            state.put("large" + i, tensor(bytes, arena));
        }
        return state;
    }

    private static Tensor tensor(byte[] bytes, Arena arena) {
        MemorySegment segment = arena.allocate(bytes.length).copyFrom(MemorySegment.ofArray(bytes));
        Storage storage = Storage.over(new Allocation(segment, Allocation.Sharing.PRIVATE, null, () -> {}));
        return Tensor.of(storage, DType.UINT8, 0, Shape.of(bytes.length), 1);
    }

    private static void assertSameBytes(Tensor tensor, Object other) {
        assertThat(tensor.storage().segment().mismatch(((Tensor) other).storage().segment())).isEqualTo(-1);
    }

    /// A confined arena lets no other thread in.
    @ParameterizedTest
    @EnumSource
    void severalThreadsMakeTheBytesThatOneMakes(SaveOptions.Sharing sharing) throws IOException {
        SaveOptions options = SaveOptions.defaults().sharing(sharing);
        Path other = folder.resolve("b.croft");
        try (Arena confined = Arena.ofConfined()) {
            Checkpoint.save(other, variety(confined), options);
        }
        Map<String, Object> state = variety(Arena.ofAuto());
        Checkpoint.save(path, state, options);
        assertThat(Files.mismatch(path, other)).isEqualTo(-1);
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.verify().isIntact()).isTrue();
            state.forEach((name, tensor) -> assertSameBytes(checkpoint.tensor(name), tensor));
        }
    }

    /// A chunk of 16 MiB does not fit in the memory that it goes through.
    @Test
    void largeChunksAreWrittenInPieces() throws IOException {
        Map<String, Object> state = Map.of("a", Tensor.of(noise(20_000_000, 1)), "b", Tensor.of(noise(20_000_000, 1)));
        DedupReport report = Checkpoint.save(path, state, SaveOptions.defaults().chunkSize(1 << 24)).dedup()
                .orElseThrow();
        assertThat(report.written()).isEqualTo(20_000_000);
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.verify().isIntact()).isTrue();
            assertSameBytes(checkpoint.tensor("b"), state.get("b"));
        }
    }

    @Test
    void progressGoesFromNothingToAll() throws IOException {
        List<Long> told = Collections.synchronizedList(new ArrayList<>());
        long total = (long) COUNT * LARGE;
        Checkpoint.save(path, state(1), SaveOptions.defaults().progress((done, of) -> {
            assertThat(of).isEqualTo(total);
            told.add(done);
        }));
        assertThat(told).isSorted().startsWith(0L).endsWith(total).hasSizeGreaterThan(4);
    }

    /// Something happens when the first bytes are written.
    private static SaveOptions once(Runnable event) {
        List<Long> before = Collections.synchronizedList(new ArrayList<>());
        return SaveOptions.defaults().progress((done, _) -> {
            if (done > 0 && before.isEmpty()) {
                before.add(done);
                event.run();
            }
        });
    }

    private void assertOnlyTheFormerFile(byte[] former) throws IOException {
        assertThat(path).hasBinaryContent(former);
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactly(path);
        }
    }

    private byte[] saveFormer() throws IOException {
        Checkpoint.save(path, Map.of("before", Tensor.of(noise(1000, 0))));
        return Files.readAllBytes(path);
    }

    @Test
    void aListenerEndsASaveByThrowing() throws IOException {
        byte[] former = saveFormer();
        SaveOptions options = once(() -> {
            throw new CancellationException("enough");
        });
        assertThatExceptionOfType(CancellationException.class)
                .isThrownBy(() -> Checkpoint.save(path, state(1), options)).withMessage("enough");
        assertOnlyTheFormerFile(former);
    }

    @Test
    void aListenerEndsAnAppendByThrowing() throws IOException {
        byte[] former = saveFormer();
        SaveOptions options = once(() -> {
            throw new CancellationException("enough");
        });
        assertThatExceptionOfType(CancellationException.class)
                .isThrownBy(() -> CroftFile.open(path).commit(state(1), options));
        assertOnlyTheFormerFile(former);
    }

    @Test
    void anInterruptedThreadSavesNothing() throws IOException {
        byte[] former = saveFormer();
        Thread saving = Thread.currentThread();
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> Checkpoint.save(path, state(1), once(saving::interrupt)))
                .withMessageContaining("interrupted");
        assertThat(Thread.interrupted()).isTrue();
        assertOnlyTheFormerFile(former);
    }

    @Test
    void aFileThatIsCutWhileItIsSavedFromIsTold() throws IOException {
        Path source = Files.createTempFile("source", ".croft");
        Checkpoint.save(source, state(1));
        byte[] former = saveFormer();
        try (Checkpoint checkpoint = Checkpoint.open(source)) {
            assertThatThrownBy(() -> Checkpoint.save(path, checkpoint.state(), once(() -> cut(source))))
                    .isInstanceOf(IOException.class).hasMessageMatching(".*(truncated|cut to).*");
        } finally {
            Files.delete(source);
        }
        assertOnlyTheFormerFile(former);
    }

    private static void cut(Path file) {
        try (var open = new RandomAccessFile(file.toFile(), "rw")) {
            open.setLength(1 << 16);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aStorageThatIsFreedMeanwhileIsTold() throws IOException {
        byte[] former = saveFormer();
        Map<String, Object> state = state(1);
        Storage last = ((Tensor) state.get("layer" + (COUNT - 1))).storage();
        assertThatIllegalStateException().isThrownBy(() -> Checkpoint.save(path, state, once(last::release)));
        assertOnlyTheFormerFile(former);
    }

    @Test
    void aFreedStorageIsToldByTheNameOfItsTensor() throws IOException {
        byte[] former = saveFormer();
        Tensor freed = Tensor.of(noise(10, 1));
        freed.storage().release();
        assertThatIllegalStateException()
                .isThrownBy(() -> Checkpoint.save(path, Map.of("optimizer", List.of(Map.of("exp_avg", freed)))))
                .withMessageContaining("'optimizer/0/exp_avg'").withMessageContaining("freed");
        assertOnlyTheFormerFile(former);
    }

    @Test
    void aDirectoryThatVanishesIsTold() throws IOException {
        Path directory = Files.createDirectory(folder.resolve("vanishing"));
        Path file = directory.resolve("a.croft");
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> Checkpoint.save(file, state(1), once(() -> delete(directory))))
                .withMessageContaining(file.toString()).withMessageContaining("no file was made or changed");
        assertThat(directory).doesNotExist();
    }

    private static void delete(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
            Files.delete(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void whatAKilledProcessLeftIsDeletedByTheNextSave() throws IOException {
        RegularFiles.open(temporary(), StandardOpenOption.CREATE_NEW).close();
        Path kept = Files.write(folder.resolve(".notes.croft-tmp"), noise(100, 1));
        Checkpoint.save(path, Map.of());
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactlyInAnyOrder(path, kept);
        }
    }

    private Path temporary() {
        return folder.resolve("." + UUID.randomUUID() + ".croft-tmp");
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void aFileWhoseWriterMayBeAboutToNameItIsKeptForAnHour() throws IOException {
        Path file = temporary();
        RegularFiles.open(file, StandardOpenOption.CREATE_NEW).close();
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
        Checkpoint.save(path, Map.of());
        assertThat(file).exists();
    }

    @Test
    void twoSavesIntoADirectoryLeaveEachOtherAlone() throws IOException {
        Map<String, Object> state = state(1);
        Checkpoint.save(path, state, once(() -> {
            try (PeerJvm peer = PeerJvm.start(Saver.class, folder.resolve("theirs.croft").toString())) {
                Checkpoint.save(folder.resolve("ours.croft"), Map.of());
                assertThat(peer.answer()).isEqualTo("saved");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }));
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.verify().isIntact()).isTrue();
        }
    }

    @Test
    void soTheyDoIfOneCameToTheDirectoryByALink() throws IOException {
        Path link = Files.createSymbolicLink(folder.resolve("link"), folder);
        Checkpoint.save(path, state(1), once(() -> {
            try {
                Checkpoint.save(link.resolve("ours.croft"), Map.of());
                // This process would have lost its lock by a look at the file.
                try (PeerJvm peer = PeerJvm.start(Saver.class, folder.resolve("theirs.croft").toString())) {
                    assertThat(peer.answer()).isEqualTo("saved");
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }));
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.verify().isIntact()).isTrue();
        }
    }

    @Test
    void aFileThatIsSweptInTheMomentInWhichItIsMadeIsMadeAgain() throws Exception {
        try (PeerJvm peer = PeerJvm.start(Beginner.class, folder.resolve("theirs.croft").toString())) {
            assertThat(peer.answer()).isEqualTo("begins");
            Beginner.begin(path);
            assertThat(peer.answer()).isEqualTo("has begun");
            peer.endsWell();
        }
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).isEmpty();
        }
    }

    /// Another process that begins files again and again, and so sweeps the directory.
    static final class Beginner {
        private Beginner() {}

        @SuppressWarnings("SystemOut")
        public static void main(String[] args) throws IOException {
            System.out.println("begins");
            begin(Path.of(args[0]));
            System.out.println("has begun");
        }

        private static void begin(Path path) throws IOException {
            for (int i = 0; i < 1500; i++) {
                FileTarget.of(path, Disk.system()).begin(Creation.REPLACING, Replacing.ANY).close();
            }
        }
    }

    /// Another process that saves.
    static final class Saver {
        private Saver() {}

        @SuppressWarnings("SystemOut")
        public static void main(String[] args) throws IOException {
            Checkpoint.save(Path.of(args[0]), Map.of());
            System.out.println("saved");
        }
    }
}
