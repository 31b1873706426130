package io.undercroft.mmap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.mmap.SharedStorageHandle.Home;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import io.undercroft.testsupport.PeerJvm;
import io.undercroft.testsupport.Proc;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.lang.foreign.Arena;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Handles to storages and tensors, in this process and in another one.
@EnabledOnOs(OS.LINUX)
class SharedHandleTest {

    @TempDir
    Path folder;

    private final String name = "undercroft-test-" + UUID.randomUUID();

    @Test
    void inItsOwnProcessAHandleOpensToTheStorageItWasMadeOf() throws IOException {
        Storage storage = Storage.allocate(100).shareMemory();
        SharedStorageHandle handle = SharedStorageHandle.of(storage);

        assertThat(handle.open()).isSameAs(storage);
        assertThat(storage.referenceCount()).isEqualTo(2);
        storage.release();
        assertThat(SharedStorageHandle.parse(handle.toString()).open()).isSameAs(storage);
        storage.release();
        storage.release();
        assertThatExceptionOfType(SharedMemoryException.class).isThrownBy(handle::open)
                .withMessageContaining("is not there");
    }

    @Test
    void handlesToOneStorageOpenToOneStorageOnOneMapping() throws IOException {
        Storage creator = FileStorage.openSharedMemory(name, ByteRange.bytes(100));
        SharedStorageHandle handle = new SharedStorageHandle(Home.SHARED_MEMORY, name, 0, MapMode.SHARED,
                ByteRange.bytes(100), ByteRange.bytes(100));
        SharedStorageHandle sliced = new SharedStorageHandle(Home.SHARED_MEMORY, name, 0, MapMode.SHARED,
                ByteRange.bytes(100), new ByteRange(10, 5));
        Storage slice = sliced.open();
        Storage first = handle.open();
        Storage second = handle.open();

        assertThat(second).isSameAs(first).isNotSameAs(creator);
        assertThat(sliced.open()).isSameAs(slice);
        assertThat(slice.base()).containsSame(first);
        assertThat(slice.sliceOffset()).isEqualTo(10);
        assertThat(Proc.mappings(name)).as("the creator's and the handles'").isEqualTo(2);
        assertThat(first.referenceCount()).as("two opened it, and the slice").isEqualTo(3);
        creator.set(12, (byte) 3);
        assertThat(slice.get(2)).isEqualTo((byte) 3);
        for (Storage each : List.of(first, first, slice, slice, creator)) {
            each.release();
        }
        assertThat(Proc.mappings(name)).isZero();
    }

    @Test
    void tensorsThatShareAStorageShareItInAnotherProcess() throws Exception {
        Tensor whole = Tensor.arange(DType.FLOAT32, 12).view(3, 4).shareMemory();
        Tensor transposed = whole.narrow(0, 1, 2).t();
        Tensor bits = whole.view(DType.INT32);
        Tensor other = Tensor.of(7L, 8L).shareMemory();
        try (PeerJvm peer = PeerJvm.start(HandlePeer.class)) {
            assertThat(answer(peer, whole)).isEqualTo(
                    "0 float32 [3, 4] [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0] 1");
            assertThat(answer(peer, transposed))
                    .isEqualTo("0 float32 [4, 2] [4.0, 8.0, 5.0, 9.0, 6.0, 10.0, 7.0, 11.0] 2");
            assertThat(answer(peer, other)).isEqualTo("1 int64 [2] [7.0, 8.0] 1");
            assertThat(answer(peer, bits.narrow(0, 0, 1).narrow(1, 1, 1)))
                    .isEqualTo("0 int32 [1, 1] [1.065353216E9] 3");
            assertThat(answer(peer, Tensor.of(whole.storage().slice(16, 8), DType.FLOAT32, 1, Shape.of(1), 1)))
                    .isEqualTo("0 float32 [1] [5.0] 1");
            peer.say("add");
            assertThat(peer.answer()).isEqualTo("added");
            peer.endsWell();
        }
        assertThat(whole.getFloat(0, 0)).isEqualTo(1);
        assertThat(transposed.getFloat(0, 0)).isEqualTo(5);
        assertThat(bits.getLong(0, 1)).isEqualTo(1_065_353_217L);
        assertThat(whole.getFloat(1, 1)).isEqualTo(6);
        assertThat(other.toLongArray()).containsExactly(8, 8);
        whole.storage().release();
        other.storage().release();
    }

    @Test
    void memoryWithoutANameIsHandedOverAsLongAsItsMakerLives() throws Exception {
        Tensor tensor = Tensor.zeros(SharedMemory.anonymousAllocator(), DType.BFLOAT16, 2, 2).fill(3);
        SharedTensorHandle handle = SharedTensorHandle.of(tensor);
        assertThat(handle.toString())
                .startsWith("undercroft:fd/" + ProcessHandle.current().pid() + "/").contains("?nbytes=8&id=");
        assertThat(handle.open().storage()).isSameAs(tensor.storage());
        tensor.storage().release();
        try (PeerJvm peer = PeerJvm.start(HandlePeer.class)) {
            assertThat(answer(peer, tensor)).isEqualTo("0 bfloat16 [2, 2] [3.0, 3.0, 3.0, 3.0] 1");
            assertThat(answer(peer, tensor.t())).isEqualTo("0 bfloat16 [2, 2] [3.0, 3.0, 3.0, 3.0] 2");
            tensor.storage().release();
            peer.say(handle.toString());
            assertThat(peer.answer()).as("it has it already").isEqualTo("0 bfloat16 [2, 2] [3.0, 3.0, 3.0, 3.0] 3");
            peer.say("add");
            assertThat(peer.answer()).isEqualTo("added");
            peer.endsWell();
        }
        assertThatExceptionOfType(SharedMemoryException.class).isThrownBy(handle::open);
    }

    @Test
    void partsOfAFileAreHandedOver() throws Exception {
        Path path = Files.write(folder.resolve("a b&c=d?.bin"), new byte[20_000]);
        Storage storage = FileStorage.open(path, MapMode.SHARED, ByteRange.elements(DType.INT16, 3).from(5000));
        Tensor tensor = Tensor.of(storage, DType.INT16, 0, Shape.of(3), 1).fill(7);
        assertThat(SharedTensorHandle.of(tensor).toString()).contains("/a%20b&c=d%3F.bin?nbytes=6&id=")
                .contains("&at=5000");
        try (PeerJvm peer = PeerJvm.start(HandlePeer.class);
                PeerJvm denied = PeerJvm.startWith(List.of("--illegal-native-access=deny"), HandlePeer.class)) {
            assertThat(answer(peer, tensor)).isEqualTo("0 int16 [3] [7.0, 7.0, 7.0] 1");
            assertThat(answer(denied, tensor)).isEqualTo("0 int16 [3] [7.0, 7.0, 7.0] 1");
            for (PeerJvm each : List.of(peer, denied)) {
                each.say("add");
                assertThat(each.answer()).isEqualTo("added");
                each.endsWell();
            }
        }
        assertThat(tensor.toLongArray()).containsExactly(9, 7, 7);
        storage.release();
        assertThat(Files.readAllBytes(path)).hasSize(20_000).contains(9, org.assertj.core.data.Index.atIndex(5000));
    }

    @Test
    void memoryThatTookThePlaceOfAnotherIsRefused() throws Exception {
        Storage first = FileStorage.openSharedMemory(name, ByteRange.bytes(10));
        SharedStorageHandle handle = SharedStorageHandle.of(first);
        SharedMemory.unlink(name);
        Storage second = FileStorage.openSharedMemory(name, ByteRange.bytes(10));
        assertThat(handle.open()).as("who has it, has it").isSameAs(first);
        first.release();
        first.release();

        assertThatExceptionOfType(SharedMemoryException.class).isThrownBy(handle::open)
                .withMessageContaining("other memory than what the handle was made of");
        try (PeerJvm peer = PeerJvm.start(HandlePeer.class)) {
            peer.say(handle + "&dtype=uint8&shape=10&stride=1&offset=0");
            assertThat(peer.answer()).contains("SharedMemoryException").contains("other memory");
        }
        second.release();
    }

    @Test
    void aFileThatTookThePlaceOfAnotherIsRefused() throws IOException {
        Path path = Files.write(folder.resolve("f"), new byte[10]);
        Storage storage = FileStorage.open(path, MapMode.SHARED);
        SharedStorageHandle handle = SharedStorageHandle.of(storage);
        storage.release();
        Files.move(path, folder.resolve("old"));

        assertThatExceptionOfType(NoSuchFileException.class).isThrownBy(handle::open);
        Files.write(path, new byte[10]);
        assertThatExceptionOfType(FileSystemException.class).isThrownBy(handle::open)
                .withMessageContaining("another file");
    }

    @Test
    void memoryThatIsTooSmallIsRefused() throws IOException {
        Storage storage = FileStorage.openSharedMemory(name, ByteRange.bytes(10));
        Path path = Files.write(folder.resolve("f"), new byte[10]);
        String file = "undercroft:file" + path.toUri().getRawPath();

        assertThatExceptionOfType(SharedMemoryException.class)
                .isThrownBy(() -> SharedStorageHandle.parse("undercroft:shm/" + name + "?nbytes=11").open())
                .withMessageContaining("too small").withMessageContaining("11 bytes");
        assertThatExceptionOfType(MappingException.class)
                .isThrownBy(() -> SharedStorageHandle.parse(file + "?nbytes=11").open());
        assertThatExceptionOfType(MappingException.class)
                .isThrownBy(() -> SharedStorageHandle.parse(file + "?nbytes=9&at=2").open());
        assertThat(path).hasSize(10);
        Storage start = SharedStorageHandle.parse("undercroft:shm/" + name + "?nbytes=3").open();
        assertThat(start.nbytes()).isEqualTo(3);
        assertThat(SharedStorageHandle.of(start).open()).isSameAs(start);
        start.release();
        start.release();
        storage.release();
    }

    @Test
    void whatIsReadOnlyStaysSo() throws IOException {
        Storage storage = FileStorage.openSharedMemory(name, ByteRange.bytes(10));
        try (SharedMemory memory = SharedMemory.attach(name, MapMode.READ_ONLY, TrustedOwner.SELF_OR_ROOT)) {
            Storage readOnly = Storage.over(memory.allocation());
            SharedStorageHandle handle = SharedStorageHandle.of(readOnly);
            readOnly.release();

            assertThat(handle.toString()).endsWith("&access=read");
            Storage opened = SharedStorageHandle.parse(handle.toString()).open();
            assertThat(opened.isReadOnly()).isTrue();
            assertThat(opened).isNotSameAs(storage);
            opened.release();
        }
        storage.release();
    }

    @Test
    void aFileThatIsToBeReadOnlyIsMappedSoAndOnce() throws IOException {
        Path path = Files.write(folder.resolve("f"), new byte[10]);
        Storage storage = FileStorage.open(path, MapMode.SHARED);
        SharedStorageHandle handle = SharedStorageHandle.parse(SharedStorageHandle.of(storage) + "&access=read");
        Storage opened = handle.open();

        assertThat(handle.open()).isSameAs(opened).isNotSameAs(storage);
        assertThat(SharedStorageHandle.of(opened)).isEqualTo(handle);
        assertThat(opened.isReadOnly()).isTrue();
        assertThat(Proc.permissions(path.toString())).containsExactlyInAnyOrder("rw-s", "r--s");
        storage.set(3, (byte) 4);
        assertThat(opened.get(3)).isEqualTo((byte) 4);
        for (Storage each : List.of(storage, opened, opened)) {
            each.release();
        }
        assertThat(Proc.permissions(path.toString())).isEmpty();
    }

    @Test
    void aDescriptorThatIsToBeReadOnlyIsMappedSo() throws IOException {
        Path path = Files.write(folder.resolve("f"), new byte[10]);
        Process holder = new ProcessBuilder("sh", "-c", "exec 9<\"$1\"; echo; read -r _", "sh", path.toString())
                .start();
        try {
            holder.inputReader().readLine();
            String handle = "undercroft:fd/" + holder.pid() + "/9?nbytes=10";
            Storage readOnly = SharedStorageHandle.parse(handle + "&access=read").open();
            assertThat(readOnly.isReadOnly()).isTrue();
            assertThat(Proc.permissions(path.toString())).containsExactly("r--s");
            Storage writable = SharedStorageHandle.parse(handle).open();
            writable.set(0, (byte) 5);
            assertThat(readOnly.get(0)).isEqualTo((byte) 5);
            readOnly.release();
            writable.release();
        } finally {
            holder.destroy();
        }
    }

    @Test
    void aHandleOfASliceOpensItsBaseToo() throws IOException {
        Storage storage = Storage.allocate(100).shareMemory();
        Storage slice = storage.slice(10, 5);
        SharedStorageHandle handle = SharedStorageHandle.of(slice);

        assertThat(handle.whole().open()).isSameAs(storage);
        assertThat(handle.open()).isSameAs(slice);
        assertThat(SharedStorageHandle.of(storage.slice(0, 100)).open()).as("all of it").isSameAs(storage);
        for (Storage each : List.of(slice, slice, storage, storage, storage)) {
            each.release();
        }
    }

    @Test
    void twoPathsOfOneFileAreOneStorage() throws IOException {
        Path path = Files.write(folder.resolve("f"), new byte[10]);
        Path other = Files.write(folder.resolve("g"), new byte[10]);
        Path link = Files.createSymbolicLink(folder.resolve("l"), path);
        Storage storage = FileStorage.open(path, MapMode.SHARED);
        SharedStorageHandle handle = SharedStorageHandle.of(storage);

        assertThat(at(link, handle).open()).isSameAs(storage);
        assertThatExceptionOfType(FileSystemException.class).as("a number alone is not enough")
                .isThrownBy(() -> at(other, handle).open()).withMessageContaining("another file");
        storage.release();
        storage.release();
    }

    private static SharedStorageHandle at(Path path, SharedStorageHandle handle) {
        return SharedStorageHandle
                .parse(handle.toString().replace(handle.name(), path.toUri().getRawPath()));
    }

    @Test
    void everybodyCanWorkOutTheNumber() throws IOException {
        Path path = Files.write(folder.resolve("f"), new byte[10]);
        Storage file = FileStorage.open(path, MapMode.SHARED);
        Storage memory = FileStorage.openSharedMemory(name, ByteRange.bytes(10));
        assertThat(SharedStorageHandle.of(file).identity()).isEqualTo(number(path));
        assertThat(SharedStorageHandle.of(memory).identity()).isEqualTo(number(Path.of("/dev/shm", name)));
        file.release();
        memory.release();
    }

    private static long number(Path path) throws IOException {
        Map<String, Object> stat = Files.readAttributes(path, "unix:ino,dev");
        return (Long) stat.get("ino") ^ (Long) stat.get("dev") << 40;
    }

    @Test
    void threadsThatOpenAHandleAtOnceGetOneStorage() throws Exception {
        Storage creator = FileStorage.openSharedMemory(name, ByteRange.bytes(100));
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            for (int round = 0; round < 200; round++) {
                SharedStorageHandle sliced = SharedStorageHandle
                        .parse("undercroft:shm/" + name + "?nbytes=100&slice=" + round % 50 + ",1");
                Set<Storage> opened = new HashSet<>();
                List<Future<Storage>> all = threads.invokeAll(Collections.nCopies(4, sliced::open));
                for (Future<Storage> each : all) {
                    opened.add(each.get());
                }
                assertThat(opened).hasSize(1);
                Storage slice = opened.iterator().next();
                assertThat(slice.referenceCount()).isEqualTo(4);
                assertThat(slice.base().orElseThrow().referenceCount()).isEqualTo(1);
                assertThat(Proc.mappings(name)).isEqualTo(2);
                for (int i = 0; i < 4; i++) {
                    slice.release();
                }
            }
        }
        creator.release();
    }

    @Test
    void whoWaitsForOneStorageKeepsNobodyFromAnother() throws Exception {
        Path path = Files.write(folder.resolve("f"), new byte[10]);
        Storage moving = FileStorage.open(path, MapMode.SHARED);
        SharedStorageHandle slow = SharedStorageHandle.of(moving);
        Storage other = FileStorage.openSharedMemory(name, ByteRange.bytes(10));
        SharedStorageHandle quick = SharedStorageHandle.of(other);
        CountDownLatch allocating = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        try (ExecutorService threads = Executors.newCachedThreadPool()) {
            Future<?> mover = threads.submit(() -> moving.moveTo(nbytes -> {
                allocating.countDown();
                await(end);
                return Allocator.offHeap().allocate(nbytes);
            }));
            await(allocating);
            AtomicReference<Thread> waiting = new AtomicReference<>();
            Future<Storage> waiter = threads.submit(() -> {
                waiting.set(Thread.currentThread());
                return slow.open();
            });
            while (waiting.get() == null || waiting.get().getState() != Thread.State.BLOCKED) {
                Thread.onSpinWait();
            }
            Future<Storage> quickly = threads.submit(quick::open);
            try {
                assertThat(quickly.get(5, TimeUnit.MINUTES)).isSameAs(other);
            } finally {
                end.countDown();
            }
            mover.get();
            waiter.get().release();
        }
        moving.release();
        other.release();
        other.release();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void aStorageThatIsNotSharedSaysWhatToDo() throws IOException {
        Path path = Files.write(folder.resolve("f"), new byte[10]);
        for (Storage storage : List.of(Storage.allocate(10), FileStorage.open(path, MapMode.PRIVATE),
                Storage.meta(5))) {
            assertThatIllegalStateException().isThrownBy(() -> SharedStorageHandle.of(storage))
                    .withMessageContaining("call shareMemory() first");
        }
        assertThatIllegalStateException().isThrownBy(() -> SharedTensorHandle.of(Tensor.of(1f)))
                .withMessageContaining("call shareMemory() first");
        Storage unknown = Storage.over(new Allocation(Arena.ofAuto().allocate(3), Allocation.Sharing.SHARED, "x",
                () -> {}));
        assertThatIllegalStateException().isThrownBy(() -> SharedStorageHandle.of(unknown))
                .withMessageContaining("does not report where");
    }

    @Test
    void aStorageThatMovedAwayIsNotFoundAnyMore() {
        Storage storage = Storage.allocate(10).shareMemory();
        SharedStorageHandle handle = SharedStorageHandle.of(storage);
        storage.moveTo(Allocator.offHeap());

        assertThatExceptionOfType(SharedMemoryException.class).isThrownBy(handle::open);
        assertThat(storage.referenceCount()).isEqualTo(1);
        storage.release();
    }

    @Test
    void everyTypeShapeAndFlagSurvivesTheText() throws IOException {
        Storage storage = Storage.allocate(1 << 10).shareMemory();
        Random random = new Random(11);
        for (DType dtype : DType.values()) {
            for (int dims = 0; dims < 5; dims++) {
                long[] sizes = random.longs(dims, 0, 4).toArray();
                long[] stride = random.longs(dims, 0, 3).toArray();
                Tensor tensor = Tensor.of(storage, dtype, random.nextInt(8), Shape.of(sizes), stride)
                        .withFlags(randomFlags(random, dtype));
                SharedTensorHandle handle = SharedTensorHandle.of(tensor);
                SharedTensorHandle read = SharedTensorHandle.parse(handle.toString());

                assertThat(read).isEqualTo(handle).isEqualTo(reserialized(handle));
                Tensor opened = read.open();
                assertThat(opened.storage()).isSameAs(storage);
                assertThat(opened.isSetTo(tensor)).isTrue();
                assertThat(opened.dtype()).isEqualTo(dtype);
                assertThat(opened.flags()).isEqualTo(tensor.flags());
                storage.release();
            }
        }
        for (DType unknown : List.of(DType.opaque("a:b&c ü", 12), DType.opaque("", 12))) {
            Tensor opaque = Tensor.of(storage, unknown, 0, Shape.of(3), 1);
            assertThat(SharedTensorHandle.parse(SharedTensorHandle.of(opaque).toString()).open().dtype())
                    .isEqualTo(unknown);
        }
        storage.release();
        storage.release();
    }

    private static Set<Flag> randomFlags(Random random, DType dtype) {
        EnumSet<Flag> flags = EnumSet.noneOf(Flag.class);
        if (dtype.kind() == DType.Kind.COMPLEX && random.nextBoolean()) {
            flags.add(Flag.CONJ);
        }
        if (dtype.kind() == DType.Kind.FLOATING && random.nextBoolean()) {
            flags.addAll(Set.of(Flag.REQUIRES_GRAD, Flag.NEG));
        }
        return flags;
    }

    @Test
    void everyHandleToAStorageSurvivesTheText() throws IOException {
        Random random = new Random(12);
        String characters = "abz09 +%&=?#,;:~.\\\"'üλ語🙂";
        for (int round = 0; round < 2000; round++) {
            StringBuilder plain = new StringBuilder();
            random.ints(1 + random.nextInt(20), 0, characters.length())
                    .forEach(at -> plain.appendCodePoint(characters.codePointAt(at)));
            Home home = List.of(Home.values()).get(random.nextInt(Home.values().length));
            String handleName = switch (home) {
                case SHARED_MEMORY, DEVICE -> wellFormed(plain);
                case DESCRIPTOR -> random.nextInt(100_000) + "/" + random.nextInt(1000);
                case FILE -> folder.resolve("x" + wellFormed(plain)).toUri().getRawPath();
            };
            long nbytes = random.nextLong(1L << 40);
            long start = random.nextLong(nbytes + 1);
            SharedStorageHandle handle = new SharedStorageHandle(home, handleName, random.nextLong() | 1,
                    random.nextBoolean() ? MapMode.SHARED : MapMode.READ_ONLY,
                    new ByteRange(home == Home.FILE ? random.nextLong(1L << 40) : 0, nbytes),
                    new ByteRange(start, random.nextLong(nbytes - start + 1)));
            String text = handle.toString();

            assertThat(text).matches("\\p{ASCII}+").doesNotContain(" ");
            assertThat(SharedStorageHandle.parse(text)).isEqualTo(handle).isEqualTo(reserialized(handle));
        }
    }

    /// Half of a character cannot be written.
    private static String wellFormed(StringBuilder text) {
        return text.toString().replaceAll("[\\ud800-\\udfff]", "x");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "x", "undercroft:", "undercroft:shm/a", "undercroft:shm/?nbytes=1", "shm/a?nbytes=1",
            "undercroft:shm/a?", "undercroft:shm/a?nbytes", "undercroft:shm/a?nbytes=", "undercroft:shm/a?nbytes=-1",
            "undercroft:shm/a?nbytes=+1", "undercroft:shm/a?nbytes=1e3", "undercroft:shm/a?nbytes=9223372036854775808",
            "undercroft:shm/a?nbytes=1&nbytes=1", "undercroft:shm/a?nbytes=1&color=red", "undercroft:shm/a?nbytes=1&",
            "undercroft:shm/a?nbytes=8&slice=1,8", "undercroft:shm/a?nbytes=8&slice=1",
            "undercroft:shm/a?nbytes=8&slice=",
            "undercroft:shm/a?nbytes=8&slice=9223372036854775807,1", "undercroft:shm/a?nbytes=8&at=1",
            "undercroft:shm/a?nbytes=8&access=write", "undercroft:shm/a?nbytes=8&id=x",
            "undercroft:shm/a%2Fb?nbytes=8", "undercroft:shm/a%0Ab?nbytes=8", "undercroft:shm/a%?nbytes=8",
            "undercroft:shm/a%zz?nbytes=8", "undercroft:shm/a\uD800?nbytes=8", "undercroft:ram/a?nbytes=8",
            "undercroft:fd/1?nbytes=8",
            "undercroft:fd/1/x?nbytes=8", "undercroft:fd/-1/1?nbytes=8", "undercroft:file?nbytes=8",
            "undercroft:file/a b?nbytes=8", "undercroft:file/a%00b?nbytes=8", "undercroft:file/a%?nbytes=8",
            "undercroft:file/a?nbytes=1&at=9223372036854775807", "undercroft:device/a?nbytes=1",
            "undercroft:device/a?nbytes=1&id=1&at=1", "undercroft:device/a%2Fb?nbytes=1&id=1"})
    void textsThatAreNoHandlesAreRefusedInOneLine(String text) {
        assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(() -> SharedStorageHandle.parse(text))
                .withMessageContaining("is no handle").withMessageNotContaining("\n");
        assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(() -> SharedTensorHandle.parse(text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "&dtype=float32", "&dtype=float33&shape=1&stride=1&offset=0",
            "&dtype=float32&shape=3&stride=1&offset=0", "&dtype=float32&shape=2&stride=1&offset=1",
            "&dtype=float32&shape=2&stride=&offset=0", "&dtype=float32&shape=2,&stride=1,1&offset=0",
            "&dtype=float32&shape=-2&stride=1&offset=0", "&dtype=float32&shape=1&stride=1&offset=9223372036854775807",
            "&dtype=float32&shape=4294967296,4294967296&stride=0,0&offset=0", "&dtype=x:0&shape=1&stride=1&offset=0",
            "&dtype=x:99999999999&shape=1&stride=1&offset=0", "&dtype=:-8&shape=1&stride=1&offset=0",
            "&dtype=x:1000000&shape=9223372036854775807&stride=0&offset=0",
            "&dtype=float32&shape=1&stride=1&offset=0&flags=conj", "&dtype=float32&shape=1&stride=1&offset=0&flags=x",
            "&dtype=float32&shape=1&stride=1&offset=0&flags=,", "&dtype=a%0Ab&shape=1&stride=1&offset=0"})
    void tensorsThatCannotBeAreRefusedInOneLine(String what) {
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> SharedTensorHandle.parse("undercroft:shm/a?nbytes=8" + what))
                .withMessageNotContaining("\n");
    }

    @Test
    void hostileTextsGiveHandlesOrTheOneException() {
        Random random = new Random(13);
        String good = "undercroft:shm/a%20b?nbytes=4096&id=123&slice=16,800&access=read&dtype=float32&shape=2,3"
                + "&stride=3,1&offset=0&flags=neg,requires_grad";
        int parsed = 0;
        for (int round = 0; round < 20_000; round++) {
            StringBuilder text = new StringBuilder(good);
            for (int changes = random.nextInt(4); changes >= 0; changes--) {
                int at = random.nextInt(text.length());
                switch (random.nextInt(3)) {
                    case 0 -> text.setCharAt(at, (char) random.nextInt(0x100));
                    case 1 -> text.deleteCharAt(at);
                    default ->
                        text.insert(at, good, at % good.length(), Math.min(good.length(), at + random.nextInt(9)));
                }
            }
            try {
                SharedTensorHandle handle = SharedTensorHandle.parse(text.toString());
                assertThat(SharedTensorHandle.parse(handle.toString())).isEqualTo(handle);
                parsed++;
            } catch (IllegalArgumentException e) {
                assertThat(e.getMessage()).doesNotContain("\n").hasSizeLessThan(400);
            }
        }
        assertThat(parsed).isPositive();
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> SharedTensorHandle.parse(good.replace("2,3", "1,".repeat(1 << 20) + "1")))
                .withMessageContaining("may have 65536");
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> SharedTensorHandle.parse(good.replace("2,3", "1,".repeat(100) + "1")));
        assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(
                () -> SharedStorageHandle.parse("undercroft:file/" + "%41".repeat(20_000) + "?nbytes=1"));
    }

    @Test
    void partsThatDoNotFitMakeNoHandle() {
        ByteRange eight = ByteRange.bytes(8);
        assertThatIllegalArgumentException().isThrownBy(
                () -> new SharedStorageHandle(Home.SHARED_MEMORY, name, 0, MapMode.PRIVATE, eight, eight));
        assertThatIllegalArgumentException().isThrownBy(
                () -> new SharedStorageHandle(Home.SHARED_MEMORY, name, 0, MapMode.SHARED, ByteRange.whole(), eight));
        assertThatIllegalArgumentException().isThrownBy(
                () -> new SharedStorageHandle(Home.FILE, "relative", 0, MapMode.SHARED, eight, eight));
    }

    @Test
    void memoryOfADeviceThatNoModuleKnowsIsRefused() throws IOException {
        try (SharedMemory memory = SharedMemory.create(name, 8, NameLifetime.WITH_CREATOR)) {
            String device = "undercroft:device/" + name + "?nbytes=8&id=";
            String known = device + Long.toUnsignedString(memory.identity().orElseThrow());
            assertThatExceptionOfType(SharedMemoryException.class)
                    .isThrownBy(() -> SharedStorageHandle.parse(known).open())
                    .withMessage(known + " cannot be opened: no module here knows the device; CUDA devices need "
                            + "undercroft-cuda on the class path");
            assertThatExceptionOfType(SharedMemoryException.class)
                    .isThrownBy(() -> SharedStorageHandle.parse(device + 1).open())
                    .withMessageContaining("the storage was released, or the process that shared it has ended");
            assertThat(memory.registered().orElseThrow().holders()).hasSize(1);
        }
    }

    @Test
    void memoryCanBeAttachedWhileOthersComeAndGo() throws IOException {
        Storage storage = FileStorage.openSharedMemory(name, ByteRange.bytes(100));
        SharedStorageHandle other = SharedStorageHandle.parse("undercroft:shm/" + name + "?nbytes=50");
        for (int i = 0; i < 1000; i++) {
            SharedStorageHandle sliced = SharedStorageHandle
                    .parse("undercroft:shm/" + name + "?nbytes=50&slice=" + i % 50 + ",1");
            Storage slice = sliced.open();
            assertThat(slice.nbytes()).isEqualTo(1);
            slice.release();
        }
        assertThat(Proc.mappings(name)).isEqualTo(1);
        Storage opened = other.open();
        assertThat(opened.nbytes()).isEqualTo(50);
        opened.release();
        storage.release();
    }

    private static String answer(PeerJvm peer, Tensor tensor) throws IOException {
        peer.say(SharedTensorHandle.of(tensor).toString());
        return peer.answer();
    }

    private static Object reserialized(Object object) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(object);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            return in.readObject();
        } catch (ClassNotFoundException e) {
            throw new IOException(e);
        }
    }
}
