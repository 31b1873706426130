package io.undercroft.mmap;

import static io.undercroft.testsupport.TestData.noise;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.undercroft.mmap.internal.Libc;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Storages on files: the cases that were observed in Torch7 and PyTorch, and where ours answers otherwise.
class FileStorageTest {
    @TempDir
    Path folder;

    static Optional<?>[] libraries() {
        return new Optional<?>[]{Libc.find(), Optional.empty()};
    }

    @Test
    void aPrivateStorageHasTheBytesOfTheFileAndWritesNeverReachIt() throws IOException {
        Path path = write("hello.txt", "Hello World\n");
        Storage storage = FileStorage.open(path, MapMode.PRIVATE);
        assertThat(text(storage)).isEqualTo("Hello World\n");

        storage.fill((byte) 42);
        assertThat(text(storage)).isEqualTo("************");
        assertThat(path).hasContent("Hello World\n");
        storage.release();
        assertThat(path).hasContent("Hello World\n");
    }

    @Test
    void whatIsWrittenToASharedStorageReachesTheFile() throws IOException {
        Path path = write("hello.txt", "Hello World\n");
        Storage storage = FileStorage.open(path, MapMode.SHARED);

        storage.fill((byte) 42);
        assertThat(path).hasContent("************");
        storage.release();
        assertThat(path).hasContent("************");
    }

    @Test
    void aStorageKnowsItsFileAndWhetherItIsShared() throws IOException {
        Path path = write("f", "abc");
        Storage mine = FileStorage.open(path, MapMode.PRIVATE);
        Storage ours = FileStorage.open(path, MapMode.SHARED);

        assertThat(mine.filename()).contains(path.toString());
        assertThat(ours.filename()).contains(path.toString());
        assertThat(mine.isShared()).isFalse();
        assertThat(ours.isShared()).isTrue();
        assertThat(mine.isReadOnly()).isFalse();
        assertThat(ours.isReadOnly()).isFalse();
        mine.release();
        ours.release();
    }

    @Test
    void sharedStoragesSeeEachOtherAndAPrivateOneIsSeenByNobody() throws IOException {
        Path path = write("g", "ABCDEFGH");
        Storage a = FileStorage.open(path, MapMode.SHARED);
        Storage b = FileStorage.open(path, MapMode.SHARED);
        Storage p = FileStorage.open(path, MapMode.PRIVATE);

        a.set(0, (byte) 'Z');
        assertThat(text(b)).isEqualTo("ZBCDEFGH");
        assertThat(text(p)).isEqualTo("ZBCDEFGH");

        p.set(1, (byte) 'Y');
        a.set(1, (byte) 'X');
        a.set(2, (byte) 'W');
        assertThat(text(a)).isEqualTo(text(b)).isEqualTo("ZXWDEFGH");
        assertThat(text(p)).as("its page is its own by now").isEqualTo("ZYCDEFGH");
        assertThat(path).hasContent("ZXWDEFGH");
        a.release();
        b.release();
        p.release();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "abcdefghij"})
    void theFirstBytesMayBeMappedAlone(String contents) throws IOException {
        Path path = write("f", contents);
        for (int nbytes = 0; nbytes <= contents.length(); nbytes++) {
            Storage mine = FileStorage.open(path, MapMode.PRIVATE, ByteRange.bytes(nbytes));
            Storage ours = FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(nbytes));
            assertThat(text(mine)).isEqualTo(text(ours)).isEqualTo(contents.substring(0, nbytes));
            assertThat(mine.filename()).isEqualTo(ours.filename()).contains(path.toString());
            mine.release();
            ours.release();
        }
        assertThat(path).hasContent(contents);
    }

    @Test
    void aSmallerSharedStorageNeverTruncates() throws IOException {
        Path path = write("g", "ABCDEFGH");
        Storage storage = FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(3));
        storage.fill((byte) '.');
        storage.release();

        assertThat(path).hasContent("...DEFGH");
    }

    @Test
    void aPrivateStorageNeedsAFileThatHoldsIt() throws IOException {
        Path path = write("f", "abcdefghij");

        assertThatExceptionOfType(MappingException.class)
                .isThrownBy(() -> FileStorage.open(path, MapMode.PRIVATE, ByteRange.bytes(11)))
                .withMessageContaining("ends at byte 10").withMessageContaining("11 bytes")
                .satisfies(e -> assertThat(e.length()).isEqualTo(11));
        assertThatExceptionOfType(MappingException.class)
                .isThrownBy(() -> FileStorage.open(path, MapMode.PRIVATE, ByteRange.bytes(1L << 40)))
                .withMessageContaining("1099511627776");
        assertThatExceptionOfType(MappingException.class)
                .isThrownBy(() -> FileStorage.open(path, MapMode.PRIVATE, ByteRange.bytes(Long.MAX_VALUE)));
        assertThat(path).hasContent("abcdefghij");
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void aReadOnlyStorageShowsTheFileAndTakesNoWrites(Optional<Libc> libc) throws IOException {
        Path path = write("f", "abcdefghij");
        Storage storage = FileStorage.open(path, MapMode.READ_ONLY, ByteRange.whole(), libc);

        assertThat(text(storage)).isEqualTo("abcdefghij");
        assertThat(storage.isReadOnly()).isTrue();
        assertThat(storage.isShared()).isFalse();
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> storage.set(0, (byte) 1));
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> storage.fill((byte) 1));
        storage.release();
        assertThat(path).hasContent("abcdefghij");
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void aRangeMayStartAtAnyByte(Optional<Libc> libc) throws IOException {
        byte[] bytes = noise(20_000, 1);
        Path path = Files.write(folder.resolve("f"), bytes);
        for (MapMode mode : MapMode.values()) {
            for (int start : new int[]{0, 1, 4095, 4096, 4097, 19_999, 20_000}) {
                Storage rest = FileStorage.open(path, mode, ByteRange.whole().from(start), libc);
                Storage half = FileStorage.open(path, mode, ByteRange.bytes((20_000 - start) / 2).from(start), libc);
                assertThat(rest.segment().toArray(JAVA_BYTE)).isEqualTo(Arrays.copyOfRange(bytes, start, 20_000));
                assertThat(half.segment().toArray(JAVA_BYTE))
                        .isEqualTo(Arrays.copyOfRange(bytes, start, start + (20_000 - start) / 2));
                rest.release();
                half.release();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void aSharedRangeGrowsTheFileToItsEnd(Optional<Libc> libc) throws IOException {
        Path path = write("g", "ABCDEFGH");
        Storage storage = FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(10).from(5), libc);
        assertThat(text(storage)).isEqualTo("FGH\0\0\0\0\0\0\0");
        storage.set(9, (byte) '!');
        storage.release();

        assertThat(path).hasContent("ABCDEFGH\0\0\0\0\0\0!");
        FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(0).from(15), libc).release();
        assertThat(path).hasSize(15);
    }

    @Test
    void elementsAreCountedInTheirType() throws IOException {
        Path path = write("f", "abcdefghij");
        TypedStorage typed = new TypedStorage(
                FileStorage.open(path, MapMode.PRIVATE, ByteRange.elements(DType.INT32, 2)), DType.INT32);
        Tensor tensor = Tensor.of(FileStorage.open(path, MapMode.SHARED, ByteRange.elements(DType.INT16, 6)),
                DType.INT16, 0, Shape.of(2, 3), 3, 1);

        assertThat(typed.size()).isEqualTo(2);
        assertThat(typed.nbytes()).isEqualTo(8);
        assertThat(tensor.getLong(0, 1)).isEqualTo('c' | 'd' << 8);
        assertThat(path).as("it grew").hasSize(12);
        tensor.fill(0);
        assertThat(path).hasContent("\0".repeat(12));
        assertThatExceptionOfType(MappingException.class)
                .isThrownBy(() -> FileStorage.open(path, MapMode.PRIVATE, ByteRange.elements(DType.FLOAT64, 2)))
                .withMessageContaining("16 bytes");
        typed.untyped().release();
        tensor.storage().release();
    }

    @Test
    void aFileIsOpenedAsElementsByOneCall() throws IOException {
        Path path = write("f", "abcdefghij");
        TypedStorage all = FileStorage.open(path, DType.INT32, MapMode.READ_ONLY);
        assertThat(all.dtype()).isEqualTo(DType.INT32);
        assertThat(all.size()).isEqualTo(2);
        assertThat(all.nbytes()).isEqualTo(10);
        assertThat(all.filename()).contains(path.toString());
        assertThat(all.isShared()).isFalse();
        assertThat(all.isResizable()).isFalse();
        TypedStorage more = FileStorage.open(path, DType.INT16, MapMode.SHARED, 6);
        assertThat(more.size()).isEqualTo(6);
        assertThat(more.getLong(1)).isEqualTo('c' | 'd' << 8);
        assertThat(more.isShared()).isTrue();
        assertThat(path).hasSize(12);
        assertThatExceptionOfType(MappingException.class)
                .isThrownBy(() -> FileStorage.open(path, DType.FLOAT64, MapMode.PRIVATE, 2))
                .withMessageContaining("16 bytes");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FileStorage.open(path, DType.FLOAT64, MapMode.SHARED, Long.MAX_VALUE));
        all.release();
        more.release();
    }

    @Test
    void anEmptyFileMakesAnEmptyStorage() throws IOException {
        Path path = write("e", "");

        assertThat(FileStorage.open(path, MapMode.PRIVATE).nbytes()).isZero();
        assertThat(FileStorage.open(path, MapMode.SHARED).nbytes()).isZero();
        assertThat(FileStorage.open(path, MapMode.SHARED).isShared()).isTrue();
        assertThat(path).isEmptyFile();
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void aSharedStorageCreatesItsFileForTheOwnerOnly(Optional<Libc> libc) throws IOException {
        Path path = folder.resolve("new.bin");
        Storage storage = FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(16), libc);
        assertThat(storage.contentEquals(Storage.allocate(16))).isTrue();
        assertThat(path).hasSize(16);
        if (path.getFileSystem().supportedFileAttributeViews().contains("posix")) {
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path))).isEqualTo("rw-------");
        }

        storage.set(0, (byte) 1);
        storage.set(15, (byte) 4);
        storage.release();
        assertThat(Files.readAllBytes(path)).containsExactly(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4);
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void aSharedStorageMakesItsFileLongerAndKeepsEveryByte(Optional<Libc> libc) throws IOException {
        Path path = write("g", "ABCDEFGH");
        Storage storage = FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(12), libc);

        assertThat(text(storage)).as("Torch7 and PyTorch clear the first").isEqualTo("ABCDEFGH\0\0\0\0");
        assertThat(path).hasContent("ABCDEFGH\0\0\0\0");
        storage.release();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aFileThatGrewTakesNoSpaceBeforeItIsWritten() throws IOException {
        Path path = folder.resolve("sparse");
        Storage storage = FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(1L << 36));
        storage.set((1L << 36) - 1, (byte) 7);

        assertThat(path).hasSize(1L << 36);
        assertThat(storage.get(1L << 35)).isZero();
        storage.release();
    }

    @Test
    void manyThatGrowAFileAtOnceNeverCutIt() throws Exception {
        Path path = folder.resolve("raced");
        int racers = 8;
        CyclicBarrier start = new CyclicBarrier(racers);
        for (int round = 0; round < 50; round++) {
            CompletableFuture<?>[] all = new CompletableFuture<?>[racers];
            for (int i = 0; i < racers; i++) {
                int nbytes = 1 + (i + 1) * 4096 + round;
                all[i] = CompletableFuture.runAsync(() -> markTheEnd(path, nbytes, start), Thread::startVirtualThread);
            }
            CompletableFuture.allOf(all).get();
            byte[] bytes = Files.readAllBytes(path);
            for (int i = 0; i < racers; i++) {
                assertThat(bytes[(i + 1) * 4096 + round]).isEqualTo((byte) 1);
            }
            Files.delete(path);
        }
    }

    private static void markTheEnd(Path path, int nbytes, CyclicBarrier start) {
        try {
            start.await();
            Storage storage = FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(nbytes));
            storage.set(nbytes - 1, (byte) 1);
            storage.release();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void noFileIsCreatedThatHasNoBytes() {
        Path path = folder.resolve("new");

        assertThatExceptionOfType(NoSuchFileException.class)
                .isThrownBy(() -> FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(0)));
        assertThatExceptionOfType(NoSuchFileException.class).isThrownBy(() -> FileStorage.open(path, MapMode.SHARED));
        assertThatExceptionOfType(NoSuchFileException.class).isThrownBy(() -> FileStorage.open(path, MapMode.PRIVATE));
        assertThatExceptionOfType(NoSuchFileException.class)
                .isThrownBy(() -> FileStorage.open(path, MapMode.PRIVATE, ByteRange.bytes(10)))
                .withMessageContaining("no such file");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void aFolderHasToBeThere() {
        assertThatExceptionOfType(NoSuchFileException.class)
                .isThrownBy(
                        () -> FileStorage.open(folder.resolve("none").resolve("x"), MapMode.SHARED, ByteRange.bytes(4)))
                .withMessageContaining("folder").withMessageContaining("make it first");
    }

    @Test
    void aFolderIsNoFile() {
        assertThatExceptionOfType(FileSystemException.class).isThrownBy(() -> FileStorage.open(folder, MapMode.PRIVATE))
                .withMessageContaining("is a directory");
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> FileStorage.open(folder, MapMode.SHARED, ByteRange.bytes(4)))
                .withMessageContaining("is a directory");
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> FileStorage.open(Path.of(""), MapMode.SHARED, ByteRange.bytes(4)))
                .withMessageContaining("is a directory");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void filesThatTheSystemMakesUpAreRefused() {
        Path status = Path.of("/proc/self/status");

        assertThatExceptionOfType(FileSystemException.class).isThrownBy(() -> FileStorage.open(status, MapMode.PRIVATE))
                .withMessageContaining("regular file");
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> FileStorage.open(status, MapMode.SHARED, ByteRange.bytes(4)))
                .withMessageContaining("/proc/self/status");
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> FileStorage.open(Path.of("/dev/zero"), MapMode.SHARED, ByteRange.bytes(4)))
                .withMessageContaining("regular files");
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void aFileThatMayNotBeReadOrWrittenIsRefused() throws IOException {
        Path path = write("secret", "abc");
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("r--------"));
        assertThat(text(FileStorage.open(path, MapMode.PRIVATE))).isEqualTo("abc");
        assumeFalse(Files.isWritable(path), "this user may write everything");

        assertThatExceptionOfType(AccessDeniedException.class).isThrownBy(() -> FileStorage.open(path, MapMode.SHARED));
        assertThatExceptionOfType(AccessDeniedException.class)
                .isThrownBy(() -> FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(10)));
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, -5, Long.MIN_VALUE})
    void aNegativeSizeIsRefused(long nbytes) throws IOException {
        Path path = write("f", "abc");

        assertThatIllegalArgumentException()
                .isThrownBy(() -> FileStorage.open(path, MapMode.PRIVATE, ByteRange.bytes(nbytes)))
                .withMessageContaining(String.valueOf(nbytes));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(nbytes)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FileStorage.openSharedMemory("undercroft-none", ByteRange.bytes(nbytes)));
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void aSizeThatNoFileCanHaveLeavesNothingBehind(Optional<Libc> libc) throws IOException {
        Path created = folder.resolve("ov.bin");
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> FileStorage.open(created, MapMode.SHARED, ByteRange.bytes(1L << 61), libc))
                .withMessageContaining(String.valueOf(1L << 61)).withMessageContaining("free some space");
        assertThat(created).doesNotExist();

        Path there = write("there", "abc");
        assertThatExceptionOfType(FileSystemException.class)
                .isThrownBy(() -> FileStorage.open(there, MapMode.SHARED, ByteRange.bytes(Long.MAX_VALUE), libc));
        assertThat(there).hasContent("abc");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aFileThatWasCreatedAndCannotBeMappedIsRemoved() throws IOException {
        // A file in memory may be longer than the addresses of a process.
        Path path = Path.of("/dev/shm", "undercroft-test-" + UUID.randomUUID());
        try {
            assertThatExceptionOfType(MappingException.class)
                    .isThrownBy(() -> FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(1L << 57)));
            assertThat(path).doesNotExist();
        } finally {
            Files.deleteIfExists(path);
        }
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void noFileIsCreatedBehindALink() throws IOException {
        Path link = Files.createSymbolicLink(folder.resolve("link"), Path.of("none"));
        assertThatExceptionOfType(NoSuchFileException.class)
                .isThrownBy(() -> FileStorage.open(link, MapMode.SHARED, ByteRange.bytes(4)))
                .withMessageContaining("link to a file that is not there");
        assertThat(folder.resolve("none")).doesNotExist();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aRangeKnowsThatItsFileWasCutWithinItsLastPage() throws IOException {
        Path path = write("f", "x".repeat(150));
        Storage storage = FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(100).from(50));
        storage.backing().orElseThrow().checkNotCut();

        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            channel.truncate(149);
        }
        assertThat(storage.get(99)).isZero();
        assertThatExceptionOfType(TruncatedMappingException.class)
                .isThrownBy(() -> storage.backing().orElseThrow().checkNotCut())
                .withMessageContainingAll("149", "150");
        storage.release();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aStorageHoldsItsMappingUntilItIsFreedAndNoOpenFile() throws IOException {
        Path path = write("f", "abc");
        long descriptors = Proc.descriptors();
        List<Storage> storages = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            storages.add(FileStorage.open(path, MapMode.PRIVATE));
            storages.add(FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(10_000)));
        }
        assertThat(Proc.mappings(path.toString())).isPositive();
        // The JVM opens a few of its own.
        assertThat(Proc.descriptors()).isLessThan(descriptors + 50);
        MemorySegment segment = storages.getLast().segment();

        storages.forEach(Storage::release);
        assertThat(Proc.mappings(path.toString())).isZero();
        assertThatThrownBy(() -> segment.get(JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aStorageThatNobodyFreedGoesWithTheGarbage() throws Exception {
        Path path = write("f", "ABCDEFGH");
        Storage slice = FileStorage.open(path, MapMode.SHARED).slice(2, 2);
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        slice.fill((byte) '-');
        assertThat(path).as("the slice keeps its base").hasContent("AB--EFGH");
        slice = null;

        assertThat(PosixMappedFileTest.becomesTrue(() -> {
            System.gc();
            return Proc.mappings(path.toString()) == 0;
        })).isTrue();
    }

    @SuppressWarnings("CheckReturnValue")
    @Test
    void releasingWhileOthersReadEndsThemWithAnException() throws Exception {
        Path path = Files.write(folder.resolve("g"), new byte[1 << 20]);
        for (MapMode mode : MapMode.values()) {
            for (int round = 0; round < 10; round++) {
                Storage storage = FileStorage.open(path, mode, ByteRange.whole());
                CountDownLatch reading = new CountDownLatch(3);
                CompletableFuture<?> elements = readUntilReleased(storage, reading, FileStorageTest::sum);
                CompletableFuture<?> copies = readUntilReleased(storage, reading, Storage::copy);
                CompletableFuture<?> probes = readUntilReleased(storage, reading, s -> Pages.probe(s.segment()));
                reading.await();
                storage.release();

                for (CompletableFuture<?> reader : List.of(elements, copies, probes)) {
                    assertThatThrownBy(() -> reader.get(5, TimeUnit.MINUTES))
                            .hasCauseInstanceOf(IllegalStateException.class);
                }
            }
        }
    }

    private static CompletableFuture<?> readUntilReleased(Storage storage, CountDownLatch reading,
            Consumer<Storage> read) {
        return CompletableFuture.runAsync(() -> {
            read.accept(storage);
            reading.countDown();
            while (true) {
                read.accept(storage);
            }
        }, task -> Thread.ofPlatform().daemon().start(task));
    }

    private static void sum(Storage storage) {
        long sum = 0;
        for (long i = 0; i < storage.nbytes(); i += 64) {
            sum += storage.get(i);
        }
        assertThat(sum).isZero();
    }

    @Test
    void aSliceKeepsAStorageThatWasReleased() throws IOException {
        Path path = write("g", "ABCDEFGH");
        Storage storage = FileStorage.open(path, MapMode.SHARED);
        Storage slice = storage.slice(2, 2);
        storage.release();

        slice.fill((byte) '-');
        assertThat(text(slice)).isEqualTo("--");
        slice.release();
        assertThat(path).hasContent("AB--EFGH");
        assertThatIllegalStateException().isThrownBy(() -> slice.get(0));
    }

    @Test
    void aMappedStorageCannotBeResized() throws IOException {
        Path path = write("g", "ABCDEFGH");
        for (Storage storage : List.of(FileStorage.open(path, MapMode.SHARED), FileStorage.open(path, MapMode.PRIVATE),
                FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(0)),
                FileStorage.open(path, MapMode.PRIVATE, ByteRange.bytes(0)))) {
            assertThat(storage.isResizable()).isFalse();
            for (long size : new long[]{4, storage.nbytes(), 100}) {
                assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> storage.resize(size))
                        .withMessageContaining("cannot be resized to " + size);
            }
            storage.release();
        }
        assertThat(path).hasContent("ABCDEFGH");
    }

    @Test
    void elementsOfAnotherTypeAreTheSameBytes() throws IOException {
        Path path = Files.write(folder.resolve("g"), new byte[]{1, 0, 0, 0, 2, 0, 0, 0});
        Storage ints = FileStorage.open(path, MapMode.SHARED);
        Storage bytes = FileStorage.open(path, MapMode.SHARED);
        Tensor numbers = Tensor.of(ints, DType.INT32, 0, Shape.of(2), 1);
        bytes.set(1, (byte) 1);

        assertThat(numbers.getLong(0)).isEqualTo(257);
        assertThat(numbers.getLong(1)).isEqualTo(2);
        ints.release();
        bytes.release();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aStorageThatIsRefusedLeavesNothingOpen() throws IOException {
        Path path = write("f", "abc");
        long descriptors = Proc.descriptors();
        for (int i = 0; i < 20; i++) {
            assertThatThrownBy(() -> FileStorage.open(path, MapMode.PRIVATE, ByteRange.bytes(4)))
                    .isInstanceOf(MappingException.class);
            assertThatThrownBy(() -> FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(1L << 61)))
                    .isInstanceOf(FileSystemException.class);
        }
        assertThat(Proc.descriptors()).isLessThan(descriptors + 10);
    }

    private Path write(String name, String contents) throws IOException {
        return Files.writeString(folder.resolve(name), contents);
    }

    private static String text(Storage storage) {
        return new String(storage.segment().toArray(JAVA_BYTE), US_ASCII);
    }
}
