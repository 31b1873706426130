package io.undercroft.mmap;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.storage.Storage;
import io.undercroft.testsupport.PeerJvm;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Storages on shared memory: by name as in Torch7, and by an allocator.
@EnabledOnOs(OS.LINUX)
class SharedMemoryStorageTest {
    private static final Path HOME = Path.of("/dev/shm");

    private final String name = "undercroft-test-" + UUID.randomUUID();
    private final Path file = HOME.resolve(name);

    @AfterEach
    void removeTheName() throws IOException {
        Files.deleteIfExists(file);
    }

    @Test
    void aNewSegmentIsZeroedAndItsNameGoesWithTheStorageThatCreatedIt() throws IOException {
        Storage storage = FileStorage.openSharedMemory(name, ByteRange.bytes(20));
        assertThat(storage.contentEquals(Storage.allocate(20))).isTrue();
        assertThat(storage.filename()).contains("/" + name);
        assertThat(storage.isShared()).isTrue();
        assertThat(file).hasSize(20);

        storage.set(19, (byte) 5);
        assertThat(Files.readAllBytes(file)[19]).isEqualTo((byte) 5);
        storage.release();
        assertThat(file).doesNotExist();
    }

    @Test
    void thoseAttachedKeepTheBytesAndRemoveNothing() throws IOException {
        Storage creator = FileStorage.openSharedMemory("/" + name, ByteRange.bytes(20));
        Storage path = FileStorage.open(file, MapMode.SHARED, ByteRange.bytes(20));
        Storage sized = FileStorage.openSharedMemory(name, ByteRange.bytes(8));
        Storage whole = FileStorage.openSharedMemory(name, ByteRange.whole());
        path.set(0, (byte) 7);
        assertThat(creator.get(0)).isEqualTo(sized.get(0)).isEqualTo(whole.get(0)).isEqualTo((byte) 7);
        assertThat(sized.nbytes()).isEqualTo(8);
        assertThat(whole.nbytes()).isEqualTo(20);

        sized.release();
        assertThat(file).exists();
        creator.release();
        assertThat(file).doesNotExist();
        assertThat(whole.get(0)).isEqualTo(path.get(0)).isEqualTo((byte) 7);
        whole.release();
        path.release();
    }

    @Test
    void aNameThatWasUnlinkedAndCreatedAgainBelongsToItsNewStorage() throws IOException {
        Storage first = FileStorage.openSharedMemory(name, ByteRange.bytes(10));
        assertThat(SharedMemory.unlink(name)).isTrue();
        Storage second = FileStorage.openSharedMemory(name, ByteRange.bytes(20));

        first.release();
        assertThat(file).hasSize(20);
        second.release();
        assertThat(file).doesNotExist();
    }

    @Test
    void aNameThatSomebodyUnlinkedIsNotRemovedAgain() throws IOException {
        Storage storage = FileStorage.openSharedMemory(name, ByteRange.bytes(10));
        assertThat(SharedMemory.unlink(name)).isTrue();
        Files.writeString(file, "another");
        storage.release();

        assertThat(file).hasContent("another");
    }

    @Test
    void aSegmentOfSomebodyElseStays() throws IOException {
        Files.writeString(file, "abcdefgh");
        FileStorage.openSharedMemory(name, ByteRange.whole()).release();
        FileStorage.openSharedMemory(name, ByteRange.bytes(3)).release();

        assertThat(file).hasContent("abcdefgh");
    }

    @Test
    void aSegmentThatIsTooSmallGrowsAndKeepsEveryByte() throws IOException {
        Files.writeString(file, "abcdefgh");
        Storage storage = FileStorage.openSharedMemory(name, ByteRange.bytes(12));

        assertThat(file).as("Torch7 clears the first").hasContent("abcdefgh\0\0\0\0");
        assertThat(storage.nbytes()).isEqualTo(12);
        storage.release();
    }

    @Test
    void aStorageBeginsWhereItsSegmentDoes() throws IOException {
        Files.writeString(file, "abcdefgh");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FileStorage.openSharedMemory(name, ByteRange.bytes(4).from(2)))
                .withMessageContaining("not at 2");
        assertThat(file).hasContent("abcdefgh");
    }

    @Test
    void attachingLeavesNoDescriptorOpen() throws IOException {
        Storage creator = FileStorage.openSharedMemory(name, ByteRange.bytes(8));
        for (int i = 0; i < 3; i++) {
            FileStorage.openSharedMemory(name, ByteRange.bytes(8)).release();
            SharedMemory.attach(name).close();
        }
        assertThat(Proc.openFiles()).noneMatch(open -> open.contains(name));
        creator.release();
    }

    @Test
    void attachingThatFailsHoldsNothing() throws IOException {
        try (SharedMemory _ = SharedMemory.create(name, 8, NameLifetime.WITH_LAST_HOLDER)) {
            failsWith(Reason.FULL, () -> FileStorage.openSharedMemory(name, ByteRange.bytes(1L << 60)));
            assertThat(file).hasSize(8);
        }
        assertThat(file).doesNotExist();
    }

    @Test
    void noSegmentIsCreatedThatHasNoBytes() throws IOException {
        failsWith(Reason.NOT_FOUND, () -> FileStorage.openSharedMemory(name, ByteRange.whole()));
        failsWith(Reason.NOT_FOUND, () -> FileStorage.openSharedMemory(name, ByteRange.bytes(0)));
        assertThat(file).doesNotExist();

        Files.writeString(file, "abc");
        Storage nothing = FileStorage.openSharedMemory(name, ByteRange.bytes(0));
        assertThat(nothing.nbytes()).isZero();
        assertThat(nothing.filename()).contains("/" + name);
        nothing.release();
    }

    @ParameterizedTest
    @ValueSource(strings = {"/a/b", "a/b", "", "300"})
    void namesThatSharedMemoryCannotHaveAreRefused(String bad) {
        String refused = bad.equals("300") ? "x".repeat(300) : bad;

        failsWith(Reason.BAD_NAME, () -> FileStorage.openSharedMemory(refused, ByteRange.bytes(12)));
        failsWith(Reason.BAD_NAME, () -> FileStorage.openSharedMemory(refused, ByteRange.whole()));
    }

    @Test
    void moreThanThereIsLeavesNothingAndCutsNothing() throws IOException {
        long tooMuch = Files.getFileStore(HOME).getTotalSpace() + (1L << 30);
        failsWith(Reason.FULL, () -> FileStorage.openSharedMemory(name, ByteRange.bytes(tooMuch)));
        assertThat(file).doesNotExist();

        Files.writeString(file, "abc");
        failsWith(Reason.FULL, () -> FileStorage.openSharedMemory(name, ByteRange.bytes(tooMuch)));
        assertThat(file).hasContent("abc");
    }

    @Test
    void oneOfManyCreatesTheName() throws Exception {
        for (int round = 0; round < 50; round++) {
            List<CompletableFuture<Storage>> openers = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                openers.add(CompletableFuture.supplyAsync(this::opened, Thread::startVirtualThread));
            }
            openers.getFirst().get().set(99, (byte) 1);
            for (CompletableFuture<Storage> opener : openers) {
                assertThat(opener.get().get(99)).isEqualTo((byte) 1);
            }
            openers.forEach(opener -> opener.join().release());
            assertThat(file).doesNotExist();
        }
    }

    private Storage opened() {
        try {
            return FileStorage.openSharedMemory(name, ByteRange.bytes(100));
        } catch (SharedMemoryException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void theAllocatorMakesSegmentsThatAnotherProcessReadsByTheirName() throws Exception {
        Storage storage = Storage.allocate(1_000_001, SharedMemory.allocator());
        String filename = storage.filename().orElseThrow();
        assertThat(filename).matches("/undercroft_" + ProcessHandle.current().pid() + "_[0-9a-z]{1,10}");
        assertThat(storage.isShared()).isTrue();
        assertThat(storage.segment().address() % Storage.ALIGNMENT).isZero();

        storage.segment().set(JAVA_LONG_UNALIGNED, 1_000_001 - Long.BYTES, 41);
        try (PeerJvm peer = PeerJvm.start(SharedMemoryPeer.class, filename)) {
            assertThat(peer.answer()).isEqualTo("1000001 41");
            assertThat(storage.segment().get(JAVA_LONG_UNALIGNED, 1_000_001 - Long.BYTES)).isEqualTo(42);
            storage.release();
            assertThat(HOME.resolve(filename.substring(1))).as("the peer holds it").exists();
            peer.say("!");
            assertThat(peer.answer()).as("who is attached keeps the bytes").isEqualTo((int) '!' + " 42");
            peer.endsWell();
        }
        assertThat(HOME.resolve(filename.substring(1))).as("the last one is out").doesNotExist();
    }

    @Test
    void theAllocatorMakesSegmentsOfNoBytes() throws IOException {
        Storage storage = Storage.allocate(0, SharedMemory.allocator());
        assertThat(storage.nbytes()).isZero();
        assertThat(storage.isShared()).isTrue();
        storage.release();

        assertThat(ours(ProcessHandle.current().pid())).isEmpty();
    }

    @Test
    void anAllocatorThatHasNotThatMuchSaysHowMuchThereIs() throws IOException {
        long tooMuch = Files.getFileStore(HOME).getTotalSpace() + (1L << 30);

        assertThatExceptionOfType(OutOfMemoryError.class)
                .isThrownBy(() -> SharedMemory.allocator().allocate(tooMuch))
                .withMessageContaining(String.valueOf(tooMuch)).withMessageContaining("are free");
        assertThat(ours(ProcessHandle.current().pid())).isEmpty();
    }

    @Test
    void sharingAStorageKeepsItsIdentityAndItsContents() throws Exception {
        Storage storage = Storage.copyOf(new byte[1003]);
        Storage slice = storage.slice(995, 8);
        slice.segment().set(JAVA_LONG_UNALIGNED, 0, 77);
        long id = storage.id();

        assertThat(storage.shareMemory()).isSameAs(storage);
        assertThat(storage.id()).isEqualTo(id);
        assertThat(storage.nbytes()).isEqualTo(1003);
        assertThat(storage.isShared()).isTrue();
        assertThat(storage.isResizable()).isFalse();
        String filename = storage.filename().orElseThrow();
        try (PeerJvm peer = PeerJvm.start(SharedMemoryPeer.class, filename)) {
            assertThat(peer.answer()).isEqualTo("1003 77");
            assertThat(slice.segment().get(JAVA_LONG_UNALIGNED, 0)).isEqualTo(78);
            peer.say("!");
            assertThat(peer.answer()).isEqualTo((int) '!' + " 78");
            peer.endsWell();
        }
        assertThat(storage.shareMemory().filename()).as("it is shared already").contains(filename);
        slice.release();
        storage.release();
        assertThat(ours(ProcessHandle.current().pid())).isEmpty();
    }

    @Test
    void whatIsMappedSharedNeedsNoSharing() throws IOException {
        Storage storage = FileStorage.openSharedMemory(name, ByteRange.bytes(10));

        assertThat(storage.shareMemory().filename()).contains("/" + name);
        storage.release();
    }

    @Test
    void theNameOfAStorageThatNobodyFreedGoesWithTheGarbage() throws Exception {
        Storage named = FileStorage.openSharedMemory(name, ByteRange.bytes(10));
        Storage fresh = Storage.allocate(10, SharedMemory.allocator());
        Path path = HOME.resolve(fresh.filename().orElseThrow().substring(1));
        Storage slice = fresh.slice(2, 3);
        named.set(1, (byte) 1);
        named = null;
        fresh = null;

        assertThat(PosixMappedFileTest.becomesTrue(() -> {
            System.gc();
            return Files.notExists(file) && Proc.mappings(name) == 0;
        })).isTrue();
        assertThat(path).as("a slice keeps it").exists();
        slice.set(0, (byte) 1);
        slice = null;
        assertThat(PosixMappedFileTest.becomesTrue(() -> {
            System.gc();
            return Files.notExists(path) && Proc.mappings(path.toString()) == 0;
        })).isTrue();
    }

    @Test
    void aJvmThatEndsRemovesTheNamesOfStoragesThatNobodyFreed() throws Exception {
        try (PeerJvm peer = PeerJvm.start(ForgetfulPeer.class, name)) {
            long pid = Long.parseLong(peer.answer());
            assertThat(file).exists();
            assertThat(ours(pid)).hasSize(1);
            peer.say("!");
            peer.endsWell();

            assertThat(file).doesNotExist();
            assertThat(ours(pid)).isEmpty();
        }
    }

    private static List<Path> ours(long pid) throws IOException {
        try (Stream<Path> names = Files.list(HOME)) {
            return names.filter(path -> path.getFileName().toString().startsWith("undercroft_" + pid + "_")).toList();
        }
    }

    private static void failsWith(Reason reason, org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        assertThatExceptionOfType(SharedMemoryException.class).isThrownBy(call)
                .satisfies(e -> assertThat(e.reason()).isEqualTo(reason));
    }
}
