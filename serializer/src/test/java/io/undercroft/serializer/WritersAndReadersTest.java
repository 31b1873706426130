package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;

import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.internal.CroftContents;
import io.undercroft.serializer.internal.CroftFormat;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.Disk.DiskFile;
import io.undercroft.serializer.internal.disk.WriterLock;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import io.undercroft.testsupport.Proc;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
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
                    CroftFile.open(path).commit(state(number), SaveOptions.defaults());
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
            CroftFile.open(path).commit(state(2), SaveOptions.defaults());
            CroftFile.open(path).compact(info -> info.sequence() == 2);
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
            CroftFile.open(path).commit(state(number), SaveOptions.defaults());
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
                .isThrownBy(() -> CroftFile.open(disk, path, SaveOptions.defaults(), OpenOptions.defaults())
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
            CroftFile.open(path).commit(state(2), SaveOptions.defaults());
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
                    CroftFile.open(path).commit(state(number), SaveOptions.defaults());
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
                    CroftFile.open(path).compact(_ -> true);
                }
            }).withMessageContaining("is being written by");
            writer.kill();
        }
        assertThat(numberIn(path)).isGreaterThanOrEqualTo(last);
        CroftFile.open(path).commit(state(1000), SaveOptions.defaults());
        assertThat(numberIn(path)).isEqualTo(1000);
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThat(checkpoint.verify().damages()).isEmpty();
        }
        assertThat(Files.exists(folder.resolve("state.croft.lock"))).isFalse();
    }

    /// Saves a file once, and says whether it could.
    static final class Saving {
        public static void main(String... arguments) {
            System.out.println(save(arguments[0]));
        }

        public static String save(String path) {
            try {
                Checkpoint.save(Path.of(path), Map.of());
                return "saved";
            } catch (LockedException e) {
                return e.getMessage().contains("pid ") ? "locked" : e.getMessage();
            } catch (IOException e) {
                return e.toString();
            }
        }
    }

    private static String saveInAnotherProcess(Path path) {
        try (PeerJvm peer = PeerJvm.start(Saving.class, path.toString())) {
            return String.join("\n", peer.lines());
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /// Saves by a copy of this library in a class loader of its own.
    private static String saveByACopy(Path path) {
        URL[] classes = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(Path::of).map(Path::toUri).map(WritersAndReadersTest::url).toArray(URL[]::new);
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        try (URLClassLoader loader = new URLClassLoader(classes, ClassLoader.getPlatformClassLoader())) {
            Thread.currentThread().setContextClassLoader(loader);
            Method save = loader.loadClass(Saving.class.getName()).getDeclaredMethod("save", String.class);
            save.setAccessible(true);
            return (String) save.invoke(null, path.toString());
        } catch (IOException | ReflectiveOperationException e) {
            throw new AssertionError(e);
        } finally {
            Thread.currentThread().setContextClassLoader(before);
        }
    }

    private static URL url(URI uri) {
        try {
            return uri.toURL();
        } catch (MalformedURLException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aLockIsKeptWhenAnotherCopyOfTheLibraryInThisProcessMeetsIt() throws IOException {
        Path path = folder.resolve("state.croft");
        try (WriterLock _ = WriterLock.of(path)) {
            assertThat(saveByACopy(path)).isEqualTo("locked");
            assertThat(saveInAnotherProcess(path)).isEqualTo("locked");
        }
        assertThat(saveInAnotherProcess(path)).isEqualTo("saved");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aLockIsKeptWhenItsFileIsMetByAnotherPath() throws IOException {
        Path path = folder.resolve("state.croft");
        try (WriterLock _ = WriterLock.of(path)) {
            Files.createLink(folder.resolve("other.croft.lock"), folder.resolve("state.croft.lock"));
            for (int i = 0; i < 10; i++) {
                assertThat(Saving.save(folder.resolve("other.croft").toString())).isEqualTo("locked");
            }
            assertThat(Proc.openFiles()).filteredOn(file -> file.endsWith(".croft.lock")).hasSize(2);
            assertThat(saveInAnotherProcess(path)).isEqualTo("locked");
        }
        assertThat(Saving.save(folder.resolve("other.croft").toString())).isEqualTo("saved");
    }

    @Test
    void aFileThatIsWrittenIsNotDeletedAfterAnotherCopyOfTheLibraryHasSavedToItsDirectory() throws IOException {
        Path path = folder.resolve("state.croft");
        Checkpoint.save(path, state(1), SaveOptions.defaults().progress((done, total) -> {
            if (done == total) {
                assertThat(saveByACopy(folder.resolve("other.croft"))).isEqualTo("saved");
                assertThat(saveInAnotherProcess(folder.resolve("other.croft"))).isEqualTo("saved");
            }
        }));
        assertThat(numberIn(path)).isEqualTo(1);
    }

    /// Says whether another process has a file locked.
    static final class Locking {
        public static void main(String... arguments) throws IOException {
            try (FileChannel channel = FileChannel.open(Path.of(arguments[0]), StandardOpenOption.WRITE)) {
                System.out.println(channel.tryLock() == null ? "locked" : "free");
            }
        }
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void nothingThatIsDoneWithANewFileReleasesItsLock() throws Exception {
        Path path = folder.resolve("new");
        long length = 4 << 20;
        try (DiskFile file = Disk.system().create(path); Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = arena.allocate(length, 1 << 12);
            file.write(0, bytes);
            file.write(length, bytes.asSlice(0, 100));
            file.force();
            file.isReadPastCache(0, length);
            file.readOnce(0, bytes);
            file.read(0, bytes);
            assertThat(file.segment(0, length)).isPresent();
            file.truncate(length);
            assertThat(file.isAt(path)).isTrue();
            try (PeerJvm peer = PeerJvm.start(Locking.class, path.toString())) {
                assertThat(peer.lines()).containsExactly("locked");
            }
        }
    }
}
