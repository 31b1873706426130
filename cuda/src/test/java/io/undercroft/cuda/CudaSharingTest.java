package io.undercroft.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.cuda.internal.Rings;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.SharedStorageHandle;
import io.undercroft.mmap.SharedTensorHandle;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Storages of the stand-in's devices in several processes.
@NeedsStandIn
class CudaSharingTest {
    private static final Device SECOND = Device.cuda(1);

    private final List<PeerJvm> peers = new ArrayList<>();
    private long allocations;

    private PeerJvm peer() throws IOException {
        return peer(Map.of());
    }

    private PeerJvm peer(Map<String, String> environment) throws IOException {
        return peer(List.of(), environment);
    }

    /// Another JVM with a stand-in of its own.
    ///
    /// @param starter a command that runs the rest of its arguments; empty if none is needed
    /// @param environment variables
    private PeerJvm peer(List<String> starter, Map<String, String> environment) throws IOException {
        List<String> options = new ArrayList<>(PeerJvm.NATIVE);
        options.add("-Dundercroft.standin=" + StandIn.library());
        PeerJvm peer = new PeerJvm(environment, starter, options, SharingPeer.class);
        peers.add(peer);
        assertThat(peer.answer()).isEqualTo("ready");
        return peer;
    }

    @BeforeEach
    void count() {
        allocations = StandIn.get("allocations");
    }

    @AfterEach
    void nothingIsLeft() throws Exception {
        List<String> names = new ArrayList<>();
        names.add("undercroft_cuda_" + ProcessHandle.current().pid() + "_");
        for (PeerJvm peer : peers) {
            peer.kill();
            names.add("undercroft_cuda_" + peer.pid() + "_");
        }
        assertThat(StandIn.get("imports")).isZero();
        SharedMemory.gc();
        while (StandIn.get("allocations") != allocations || SharedMemory.list().stream()
                .anyMatch(segment -> names.stream().anyMatch(segment.name()::startsWith))) {
            Thread.sleep(1);
        }
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        while (!condition.getAsBoolean()) {
            Thread.sleep(1);
        }
    }

    private static Storage onDevice(Device device, int... bytes) {
        byte[] all = new byte[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            all[i] = (byte) bytes[i];
        }
        return Storage.copyOf(all).to(device);
    }

    private static String handle(Storage storage) {
        return SharedStorageHandle.of(storage).toString();
    }

    @Test
    void whatOneProcessWritesTheOtherReads() throws Exception {
        Storage storage = onDevice(SECOND, 1, 2, 3);
        Storage slice = storage.slice(1, 2);
        assertThat(storage.isShared()).isFalse();
        assertThat(storage.shareMemory()).isSameAs(storage);
        assertThat(storage.isShared()).isTrue();
        assertThat(storage.isResizable()).isFalse();
        assertThat(slice.cpu().toList()).containsExactly(2, 3);
        assertThat(handle(storage)).startsWith("undercroft:device/undercroft_cuda_").contains("?nbytes=3&id=");

        PeerJvm peer = peer();
        assertThat(peer.ask("open " + handle(storage))).isEqualTo("0 on cuda:1");
        assertThat(peer.ask("read 0")).isEqualTo("[1, 2, 3]");
        peer.ask("fill 0 9");
        assertThat(slice.cpu().toList()).containsExactly(9, 9);
        slice.fill((byte) 4);
        assertThat(peer.ask("read 0")).isEqualTo("[9, 4, 4]");
        peer.ask("release 0");
        assertThat(peer.ask("get imports")).isEqualTo("0");
        slice.release();
        storage.release();
    }

    @Test
    void viewsAndSlicesShareTheirStorageInTheOtherProcess() throws Exception {
        Tensor tensor = Tensor.arange(DType.FLOAT32, 12).view(3, 4).cuda().shareMemory();
        Storage slice = tensor.storage().slice(4, 8);
        PeerJvm peer = peer();
        assertThat(peer.ask("open " + handle(tensor.storage()))).isEqualTo("0 on cuda:0");
        assertThat(peer.ask("tensor " + SharedTensorHandle.of(tensor.t().narrow(0, 1, 2))))
                .isEqualTo("[1.0, 5.0, 9.0, 2.0, 6.0, 10.0]");
        assertThat(peer.ask("open " + handle(slice))).isEqualTo("1 on cuda:0");
        assertThat(peer.ask("get imports")).isEqualTo("1");
        peer.ask("fill 1 0");
        assertThat(tensor.cpu().getDouble(0, 1)).isZero();
        assertThat(tensor.cpu().getDouble(0, 3)).isEqualTo(3);
        slice.release();
        tensor.storage().release();
    }

    @Test
    void aHandleThatIsOpenedTwiceOpensOneStorage() throws Exception {
        PeerJvm peer = peer();
        SharedStorageHandle handle = SharedStorageHandle.parse(peer.ask("share 3"));
        Storage opened = handle.open();
        assertThat(handle.open()).isSameAs(opened);
        assertThat(StandIn.get("imports")).isEqualTo(1);
        opened.release();
        assertThat(opened.cpu().toList()).containsExactly(5, 5, 5);
        opened.release();
        assertThat(StandIn.get("imports")).isZero();
    }

    @Test
    void inItsOwnProcessAHandleOpensToTheStorageItWasMadeOf() throws Exception {
        Storage storage = onDevice(SECOND, 1).shareMemory();
        SharedStorageHandle handle = SharedStorageHandle.of(storage);
        assertThat(SharedStorageHandle.parse(handle.toString()).open()).isSameAs(storage);
        storage.release();
        storage.release();
        assertThatThrownBy(handle::open).isInstanceOfSatisfying(SharedMemoryException.class,
                e -> assertThat(e.reason()).isEqualTo(Reason.NOT_FOUND))
                .hasMessageContaining("the storage was released, or the process that shared it has ended");
    }

    @Test
    void aStorageThatMayOnlyBeReadIsReadOnly() throws Exception {
        SharedStorageHandle handle = SharedStorageHandle.parse(peer().ask("share 2") + "&access=read");
        Storage opened = handle.open();
        assertThat(opened.isReadOnly()).isTrue();
        assertThat(opened.cpu().toList()).containsExactly(5, 5);
        assertThatThrownBy(() -> opened.fill((byte) 1)).isInstanceOf(UnsupportedOperationException.class);
        assertThatThrownBy(() -> opened.copyFrom(Storage.allocate(2)))
                .isInstanceOf(UnsupportedOperationException.class);
        opened.release();
    }

    @Test
    void inItsOwnProcessAHandleForReadingOpensTheSameMemory() throws Exception {
        Storage storage = onDevice(SECOND, 1, 2).shareMemory();
        Storage opened = SharedStorageHandle.parse(handle(storage) + "&access=read").open();
        assertThat(opened).isNotSameAs(storage);
        assertThat(opened.isReadOnly()).isTrue();
        storage.fill((byte) 4);
        storage.release();
        assertThat(opened.cpu().toList()).containsExactly(4, 4);
        assertThat(StandIn.get("cuIpcOpenMemHandle_v2")).isZero();
        opened.release();
    }

    @Test
    void aStorageWithoutBytesCanBeShared() throws Exception {
        Storage empty = Storage.allocate(0, Allocator.on(SECOND)).shareMemory();
        PeerJvm peer = peer();
        assertThat(peer.ask("open " + handle(empty))).isEqualTo("0 on cuda:1");
        assertThat(peer.ask("read 0")).isEqualTo("[]");
        empty.release();
    }

    // ---- order ----

    @Test
    void whatWasSubmittedBeforeTheHandleWasMadeIsDoneWhenItIsOpened() throws Exception {
        Storage storage = onDevice(SECOND, 1, 2, 3).shareMemory();
        PeerJvm peer = peer();
        StandIn.gate(true);
        StandIn.submit(storage.dataPtr(), 3, 7);
        peer.say("open " + handle(storage));
        peer.say("read 0");
        // Without the event, the other process reads the old bytes meanwhile.
        Thread.sleep(300);
        StandIn.gate(false);
        assertThat(peer.answer()).isEqualTo("0 on cuda:1");
        assertThat(peer.answer()).isEqualTo("[7, 7, 7]");
        storage.release();
    }

    @Test
    void whoeverHandsAnOpenedStorageOnWaitsForItsOwnWork() throws Exception {
        Storage storage = onDevice(SECOND, 1, 2, 3).shareMemory();
        PeerJvm second = peer();
        PeerJvm third = peer();
        second.ask("open " + handle(storage));
        second.ask("submit 0 8");
        assertThat(third.ask("open " + second.ask("hand-on 0"))).isEqualTo("0 on cuda:1");
        assertThat(third.ask("read 0")).isEqualTo("[8, 8, 8]");
        storage.release();
        second.ask("release 0");
        assertThat(third.ask("read 0")).isEqualTo("[8, 8, 8]");
        assertThat(StandIn.get("allocations")).isEqualTo(allocations + 1);
    }

    @Test
    void anOpeningInAThreadThatIsInterruptedWaitsWithoutLoad() throws Exception {
        PeerJvm peer = peer();
        peer.ask("share 3");
        peer.ask("gate closed");
        peer.ask("submit 0 1");
        SharedStorageHandle handle = SharedStorageHandle.parse(peer.ask("hand-on 0"));
        CompletableFuture<Storage> opened = new CompletableFuture<>();
        Thread opening = Thread.ofPlatform().start(() -> {
            Thread.currentThread().interrupt();
            try {
                opened.complete(handle.open());
            } catch (IOException | RuntimeException e) {
                opened.completeExceptionally(e);
            }
        });
        await(() -> StandIn.get("cuStreamQuery") > 0);
        long start = System.nanoTime();
        Thread.sleep(500);
        // The pauses become longer up to 10 ms.
        assertThat(StandIn.get("cuStreamQuery")).isLessThan(20 + (System.nanoTime() - start) / 5_000_000);
        peer.ask("gate open");
        assertThat(opened.get().cpu().toList()).containsExactly(1, 1, 1);
        opening.join();
        opened.get().release();
    }

    @Test
    void anOpeningThatWaitsForAProcessThatIsKilledFails() throws Exception {
        PeerJvm peer = peer();
        peer.ask("share 3");
        peer.ask("gate closed");
        peer.ask("submit 0 1");
        SharedStorageHandle handle = SharedStorageHandle.parse(peer.ask("hand-on 0"));
        CompletableFuture<Storage> opening = CompletableFuture.supplyAsync(() -> {
            try {
                return handle.open();
            } catch (IOException e) {
                throw new CompletionException(e);
            }
        });
        await(() -> StandIn.get("cuStreamQuery") > 0 || opening.isDone());
        peer.kill();
        assertThatThrownBy(opening::join).hasCauseInstanceOf(SharedMemoryException.class)
                .hasMessageContaining("has ended; ask for a new handle");
    }

    // ---- lifetime ----

    @Test
    void aStorageThatIsReleasedEarlyIsFreedAfterTheOthers() throws Exception {
        Storage storage = onDevice(SECOND, 1, 2, 3).shareMemory();
        String handle = handle(storage);
        PeerJvm peer = peer();
        peer.ask("open " + handle);
        storage.release();
        assertThat(StandIn.get("allocations")).isEqualTo(allocations + 1);
        assertThat(peer.ask("read 0")).isEqualTo("[1, 2, 3]");
        assertThat(peer().ask("open " + handle)).startsWith("SharedMemoryException: " + handle)
                .endsWith("process " + ProcessHandle.current().pid()
                        + " has released the storage; ask for a new handle");
        assertThatThrownBy(() -> SharedStorageHandle.parse(handle).open())
                .isInstanceOf(SharedMemoryException.class).hasMessageContaining("has released the storage");
        peer.ask("release 0");
        await(() -> StandIn.get("allocations") == allocations);
    }

    @Test
    void aStorageOfAKilledConsumerIsFreed() throws Exception {
        Storage storage = onDevice(SECOND, 1, 2, 3).shareMemory();
        PeerJvm peer = peer();
        peer.ask("open " + handle(storage));
        storage.release();
        assertThat(StandIn.get("allocations")).isEqualTo(allocations + 1);
        peer.kill();
        await(() -> StandIn.get("allocations") == allocations);
    }

    @Test
    void storagesOfAKilledProcessAreLost() throws Exception {
        PeerJvm peer = peer();
        SharedStorageHandle handle = SharedStorageHandle.parse(peer.ask("share 3"));
        SharedStorageHandle other = SharedStorageHandle.parse(peer.ask("share 3"));
        Storage opened = handle.open();
        peer.kill();
        assertThatThrownBy(opened::cpu).isInstanceOf(IllegalStateException.class)
                .hasMessage("process " + peer.pid() + ", which shared these 3 bytes of device 0000:17:00.0, "
                        + "has ended, and they are lost; ask for a handle to another storage");
        assertThatThrownBy(() -> opened.fill((byte) 1)).hasMessageContaining("has ended");
        assertThatThrownBy(other::open).isInstanceOf(SharedMemoryException.class)
                .hasMessageContaining("has ended; ask for a new handle");
        assertThat(StandIn.get("imports")).isEqualTo(1);
        opened.release();
    }

    /// As in a container whose first process asks for the status of no other.
    @Test
    void aKilledProcessWhoseStatusNobodyAskedForHasEnded() throws Exception {
        PeerJvm peer = peer(List.of("sh", "-c", "exec 3<&0; \"$0\" \"$@\" <&3 & exec sleep 600"), Map.of());
        long pid = Long.parseLong(peer.ask("pid"));
        Storage opened = SharedStorageHandle.parse(peer.ask("share 3")).open();
        assertThat(opened.cpu().toList()).containsExactly(5, 5, 5);
        ProcessHandle.of(pid).orElseThrow().destroyForcibly();
        await(() -> isZombie(pid));
        assertThatThrownBy(opened::cpu).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("process " + pid + ", which shared these 3 bytes")
                .hasMessageContaining("has ended");
        opened.release();
    }

    /// Whether all threads of a process have ended.
    private static boolean isZombie(long pid) {
        Path process = Path.of("/proc/" + pid);
        try (Stream<Path> threads = Files.list(process.resolve("task"))) {
            return threads.count() == 1
                    && Files.readString(process.resolve("stat"), StandardCharsets.ISO_8859_1).contains(") Z ");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Two copies of the library in a process are two holders, of which one is said to have started later than the
    /// process.
    @Test
    void storagesOfASecondCopyOfTheLibraryInAKilledProcessAreLost() throws Exception {
        PeerJvm peer = peer();
        String second = "undercroft_cuda_" + peer.pid() + "_second";
        assertThat(peer.ask("second-copy")).contains(second);
        Storage opened = SharedStorageHandle.parse(peer.ask("share 3")).open();
        assertThat(opened.cpu().toList()).containsExactly(5, 5, 5);
        peer.kill();
        assertThatThrownBy(opened::cpu).isInstanceOf(IllegalStateException.class).hasMessageContaining("has ended");
        opened.release();
        assertThat(SharedMemory.unlink(second)).isTrue();
    }

    @Test
    void memoryIsFreedWhoeverElseLooksWhetherItCanBe() throws Exception {
        Storage storage = onDevice(SECOND, 1, 2, 3).shareMemory();
        PeerJvm peer = peer();
        peer.ask("open " + handle(storage));
        AtomicBoolean goesOn = new AtomicBoolean(true);
        Thread looking = Thread.ofPlatform().start(() -> {
            while (goesOn.get()) {
                Rings.freeUnused(1);
            }
        });
        storage.release();
        Thread.sleep(500);
        goesOn.set(false);
        looking.join();
        assertThat(peer.ask("release 0")).isEqualTo("released");
        await(() -> StandIn.get("allocations") == allocations);
    }

    @Test
    void manyStoragesAreSharedAndOpenedWithoutALeak() throws Exception {
        PeerJvm peer = peer();
        shareAndOpen(peer);
        long events = StandIn.get("events");
        String there = peer.ask("get events");
        for (int i = 0; i < 100; i++) {
            shareAndOpen(peer);
        }
        assertThat(StandIn.get("events")).isEqualTo(events);
        assertThat(peer.ask("get events")).isEqualTo(there);
        assertThat(peer.ask("get allocations")).isEqualTo("0");
        await(() -> StandIn.get("allocations") == allocations);
    }

    private static void shareAndOpen(PeerJvm peer) throws IOException {
        Storage storage = onDevice(SECOND, 1).shareMemory();
        assertThat(peer.ask("open-and-close " + handle(storage))).isEqualTo("closed");
        storage.release();
    }

    @Test
    void aHandleIsOpenedAThousandTimesWithoutALeak() throws Exception {
        SharedStorageHandle handle = SharedStorageHandle.parse(peer().ask("share 3"));
        for (int i = 0; i < 1000; i++) {
            handle.open().release();
        }
        assertThat(StandIn.get("imports")).isZero();
    }

    // ---- errors ----

    @Test
    void devicesAreFoundByTheirPlaceAndNotTheirNumber() throws Exception {
        Storage storage = onDevice(SECOND, 1, 2, 3).shareMemory();
        PeerJvm other = peer(Map.of("UNDERCROFT_STANDIN_FIRST", "1", "UNDERCROFT_STANDIN_DEVICES", "1"));
        assertThat(other.ask("open " + handle(storage))).isEqualTo("0 on cuda:0");
        assertThat(other.ask("read 0")).isEqualTo("[1, 2, 3]");
        assertThat(peer(Map.of("UNDERCROFT_STANDIN_DEVICES", "1")).ask("open " + handle(storage)))
                .startsWith("CudaException: opening undercroft:device/").endsWith("it is on the device 0000:18:00.0, "
                        + "and this process sees 0000:17:00.0; see CUDA_VISIBLE_DEVICES");
        storage.release();
    }

    @ParameterizedTest
    @ValueSource(strings = {"cuIpcGetMemHandle", "cuMemAlloc_v2", "cuMemsetD8Async", "cuMemcpyDtoDAsync_v2"})
    void aStorageThatCannotBeSharedStaysWhereItIs(String function) {
        Storage storage = onDevice(SECOND, 1, 2, 3);
        StandIn.fail(function, 1, 801);
        assertThatThrownBy(storage::shareMemory).isInstanceOf(CudaException.class)
                .hasMessageContaining("CUDA_ERROR_NOT_SUPPORTED (801)");
        assertThat(StandIn.get("allocations")).isEqualTo(allocations + 1);
        assertThat(storage.isShared()).isFalse();
        assertThat(storage.shareMemory().cpu().toList()).containsExactly(1, 2, 3);
        storage.release();
    }

    @Test
    void aSystemThatCannotShareSaysWhatToDo() {
        Storage storage = onDevice(SECOND, 1);
        StandIn.fail("cuIpcGetMemHandle", 1, 801);
        assertThatThrownBy(storage::shareMemory).hasMessageEndingWith("this system cannot share device memory between "
                + "processes, as WSL and some virtual GPUs; copy it with cpu() and share the copy");
        storage.release();
    }

    @ParameterizedTest
    @ValueSource(strings = {"cuIpcOpenMemHandle_v2", "cuMemGetAddressRange_v2", "cuIpcOpenEventHandle",
            "cuStreamCreate",
            "cuStreamWaitEvent", "cuStreamQuery"})
    void whicheverCallFailsWhileAHandleIsOpenedNothingLeaks(String function) throws Exception {
        SharedStorageHandle handle = SharedStorageHandle.parse(peer().ask("share 3"));
        handle.open().release();
        long events = StandIn.get("events");
        long streams = StandIn.get("streams");
        StandIn.fail(function, 1, 400);
        assertThatThrownBy(handle::open).isInstanceOf(CudaException.class)
                .hasMessageContaining("CUDA_ERROR_INVALID_HANDLE (400)");
        assertThat(StandIn.get("failed")).isEqualTo(1);
        assertThat(StandIn.get("imports")).isZero();
        assertThat(StandIn.get("events")).isEqualTo(events);
        assertThat(StandIn.get("streams")).isEqualTo(streams);
        Storage opened = handle.open();
        assertThat(opened.cpu().toList()).containsExactly(5, 5, 5);
        opened.release();
    }

    @Test
    void damagedTextsAreRefused() throws Exception {
        String text = peer().ask("share 3");
        Random random = new Random(5);
        for (int i = 0; i < 500; i++) {
            StringBuilder damaged = new StringBuilder(text);
            int at = random.nextInt(text.length());
            damaged.setCharAt(at, (char) (' ' + random.nextInt(95)));
            if (!damaged.toString().equals(text)) {
                assertThatThrownBy(() -> SharedStorageHandle.parse(damaged.toString()).open())
                        .isInstanceOfAny(IllegalArgumentException.class, IOException.class);
            }
        }
    }
}
