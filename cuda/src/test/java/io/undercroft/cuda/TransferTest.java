package io.undercroft.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.cuda.internal.Rings;
import io.undercroft.mmap.ByteRange;
import io.undercroft.mmap.FileStorage;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.TruncatedMappingException;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.DeviceMemory.Upload;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// Copies through the ring of pinned buffers, over the stand-in for the driver.
@NeedsStandIn
class TransferTest {
    private static final int BUFFER = Rings.BUFFER;

    private final DeviceMemory memory = (DeviceMemory) Allocator.on(Device.cuda(0));
    @TempDir
    private Path folder;

    /// What is at a place of every upload.
    private static byte at(long place) {
        long mixed = place * 0x9E3779B97F4A7C15L;
        return (byte) (mixed >>> 56);
    }

    private static void write(long offset, MemorySegment into) {
        for (long i = 0; i < into.byteSize(); i++) {
            into.set(ValueLayout.JAVA_BYTE, i, at(offset + i));
        }
    }

    private static Upload upload(MemorySegment target, long start) {
        return new Upload(target, (offset, into) -> write(start + offset, into));
    }

    private void assertHolds(MemorySegment onDevice, long start) {
        MemorySegment host = MemorySegment.ofArray(new byte[(int) onDevice.byteSize()]);
        memory.toHost(onDevice, host);
        for (long i = 0; i < host.byteSize(); i++) {
            if (host.get(ValueLayout.JAVA_BYTE, i) != at(start + i)) {
                throw new AssertionError("byte " + i + " of " + host.byteSize() + " is wrong");
            }
        }
    }

    private static void waitFor(String what, long atLeast) throws InterruptedException {
        while (StandIn.get(what) < atLeast) {
            Thread.sleep(1);
        }
    }

    @Test
    void uploadsOfAnySizeArrive() {
        for (long size : new long[]{0, 1, BUFFER - 1, BUFFER, BUFFER + 1, 3L * BUFFER + 7}) {
            Allocation there = memory.allocate(size);
            memory.upload(List.of(upload(there.segment(), 5)));
            assertHolds(there.segment(), 5);
            there.free();
        }
        memory.upload(List.of());
    }

    @Test
    void manyUploadsAreReadOnceEachAndMixedInBuffers() {
        Random random = new Random(42);
        List<Allocation> there = random.ints(300, 0, 200_000).mapToObj(memory::allocate).toList();
        AtomicLong read = new AtomicLong();
        memory.upload(IntStream.range(0, there.size())
                .mapToObj(i -> new Upload(there.get(i).segment(), (offset, into) -> {
                    read.addAndGet(into.byteSize());
                    write(i + offset, into);
                })).toList());
        assertThat(read).hasValue(there.stream().mapToLong(a -> a.segment().byteSize()).sum());
        for (int i = 0; i < there.size(); i++) {
            assertHolds(there.get(i).segment(), i);
        }
        there.forEach(Allocation::free);
    }

    @Test
    void adjacentTargetsOfOneAllocationAreCopiedAtOnce() {
        Allocation there = memory.allocate(100_000);
        Allocation other = memory.allocate(10);
        List<Upload> uploads = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            uploads.add(upload(there.segment().asSlice(i * 1000L, 1000), i * 1000L));
        }
        uploads.add(upload(other.segment(), 0));
        memory.upload(uploads);
        assertThat(StandIn.get("cuMemcpyHtoDAsync_v2")).isEqualTo(2);
        assertHolds(there.segment(), 0);
        assertHolds(other.segment(), 0);
        there.free();
        other.free();
    }

    @Test
    void copiesThatAreSlowAreWaitedForAndNeedNoMoreMemoryThanTheRing() {
        Rings.free();
        long before = StandIn.get("pinned");
        StandIn.delay(3000);
        Allocation there = memory.allocate(40L * BUFFER + 3);
        memory.upload(List.of(upload(there.segment(), 0)));
        assertThat(StandIn.get("pending")).isZero();
        assertThat(StandIn.get("pinned") - before).isPositive().isLessThanOrEqualTo((long) Rings.BUFFERS * BUFFER);
        assertHolds(there.segment(), 0);
        there.free();
        Rings.free();
        assertThat(StandIn.get("pinned")).isLessThanOrEqualTo(before);
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 1000003", "2, 2, 1048576", "3, 40, 65536", "16, 32, 4194304", "8, 4, 16777216"})
    void ringsOfAnySizeCopyTheSame(int threads, int buffers, int bufferBytes) {
        Allocation there = memory.allocateUninitialized(5L * BUFFER + 3);
        long pinned = StandIn.get("pinned");
        Rings.with(threads, buffers, bufferBytes, () -> {
            memory.upload(List.of(upload(there.segment(), 7)));
            assertThat(StandIn.get("largest")).isEqualTo(Math.min(bufferBytes, there.segment().byteSize()));
            assertHolds(there.segment(), 7);
            AtomicLong consumed = new AtomicLong();
            memory.download(there.segment(), (offset, from) -> {
                assertThat(offset).isEqualTo(consumed.getAndAdd(from.byteSize()));
                assertThat(from.get(ValueLayout.JAVA_BYTE, 0)).isEqualTo(at(7 + offset));
            });
            assertThat(consumed).hasValue(there.segment().byteSize());
            assertThat(StandIn.get("pinned") - pinned).isLessThanOrEqualTo((long) buffers * bufferBytes);
        });
        assertThat(StandIn.get("pinned")).isEqualTo(pinned);
        there.free();
    }

    @Test
    void aDownloadIsConsumedInOrderWhileTheNextPartsAreCopied() {
        Allocation there = memory.allocate(9L * BUFFER + 1);
        memory.upload(List.of(upload(there.segment(), 0)));
        AtomicLong expected = new AtomicLong();
        memory.download(there.segment(), (offset, from) -> {
            assertThat(offset).isEqualTo(expected.getAndAdd(from.byteSize()));
            assertThat(from.get(ValueLayout.JAVA_BYTE, 0)).isEqualTo(at(offset));
            assertThat(from.isReadOnly()).isTrue();
            assertThat(StandIn.get("cuMemcpyDtoHAsync_v2")).isGreaterThan(1);
        });
        assertThat(expected).hasValue(9L * BUFFER + 1);
        there.free();
    }

    @Test
    void whatAReaderThrowsFirstIsThrownAndNothingIsCopiedAnyMore() {
        StandIn.delay(1000);
        Allocation there = memory.allocate(20L * BUFFER);
        assertThatThrownBy(() -> memory.upload(List.of(new Upload(there.segment(), (offset, into) -> {
            if (offset == 5L * BUFFER) {
                throw new IllegalArgumentException("the sixth part");
            }
            write(offset, into);
        })))).isInstanceOf(IllegalArgumentException.class).hasMessage("the sixth part");
        assertThat(StandIn.get("pending")).isZero();
        assertThat(StandIn.get("cuMemcpyHtoDAsync_v2")).isLessThan(20);
        assertThatThrownBy(() -> memory.download(there.segment(), (_, _) -> {
            throw new IllegalArgumentException("the consumer");
        })).isInstanceOf(IllegalArgumentException.class).hasMessage("the consumer");
        assertThat(StandIn.get("pending")).isZero();
        memory.upload(List.of(upload(there.segment(), 1)));
        assertHolds(there.segment(), 1);
        there.free();
    }

    @Test
    void anInterruptedThreadStopsItsUploadButNotItsOtherCopies() {
        Allocation there = memory.allocate(100L * BUFFER);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> memory.upload(List.of(new Upload(there.segment(), (_, _) -> {}))))
                .isInstanceOf(CancellationException.class).hasMessageContaining("interrupted");
        assertThat(StandIn.get("pending")).isZero();
        Storage copy = Storage.copyOf((byte) 8).cuda();
        assertThat(copy.cpu().get(0)).isEqualTo((byte) 8);
        assertThat(Thread.interrupted()).isTrue();
        copy.release();
        there.free();
    }

    @Test
    void anUploadDoesNotWaitForTheReadersOfAnother() throws Exception {
        CountDownLatch opened = new CountDownLatch(1);
        Allocation slow = memory.allocate(30L * BUFFER);
        Allocation quick = memory.allocate(2L * BUFFER);
        CompletableFuture<Void> first = CompletableFuture
                .runAsync(() -> memory.upload(List.of(new Upload(slow.segment(), (offset, into) -> {
                    try {
                        opened.await();
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                    write(offset, into);
                }))));
        memory.upload(List.of(upload(quick.segment(), 3)));
        assertThat(first).isNotDone();
        opened.countDown();
        first.get();
        assertHolds(slow.segment(), 0);
        assertHolds(quick.segment(), 3);
        slow.free();
        quick.free();
    }

    @Test
    void buffersThatAreStillCopiedAreNotFreed() throws Exception {
        Rings.free();
        Allocation there = memory.allocate(BUFFER);
        long waits = StandIn.get("cuStreamSynchronize");
        StandIn.gate(true);
        CompletableFuture<Void> upload = CompletableFuture
                .runAsync(() -> memory.upload(List.of(upload(there.segment(), 4))));
        // One wait before the buffer is filled, and one after it was put back.
        waitFor("cuStreamSynchronize", waits + 2);
        long streams = StandIn.get("cuStreamDestroy_v2");
        Thread freeing = Thread.ofPlatform().start(Rings::free);
        while (freeing.isAlive() && StandIn.get("cuStreamDestroy_v2") == streams) {
            Thread.onSpinWait();
        }
        assertThat(StandIn.get("cuStreamDestroy_v2")).isEqualTo(streams);
        freeing.join();
        StandIn.gate(false);
        upload.get();
        assertHolds(there.segment(), 4);
        there.free();
        Rings.free();
        assertThat(StandIn.get("cuStreamDestroy_v2")).isGreaterThan(streams);
    }

    @Test
    void readersAndConsumersThatCopyThemselvesNeedNoBufferOfTheOthers() throws Exception {
        Allocation there = memory.allocate(BUFFER);
        Allocation other = memory.allocate(BUFFER);
        memory.upload(List.of(upload(there.segment(), 8)));
        CyclicBarrier allHaveABuffer = new CyclicBarrier(Rings.BUFFERS);
        try (ExecutorService threads = Executors.newFixedThreadPool(Rings.BUFFERS)) {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < Rings.BUFFERS; i++) {
                all.add(threads.submit(() -> memory.download(there.segment(), (_, from) -> {
                    await(allHaveABuffer);
                    memory.fromHost(from, other.segment());
                    memory.download(other.segment().asSlice(7, 1),
                            (_, part) -> assertThat(part.get(ValueLayout.JAVA_BYTE, 0)).isEqualTo(at(15)));
                })));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
        assertHolds(other.segment(), 8);
        memory.upload(List.of(new Upload(there.segment(),
                (offset, into) -> memory.toHost(other.segment().asSlice(offset, into.byteSize()), into))));
        assertHolds(there.segment(), 8);
        there.free();
        other.free();
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void memoryOfOneThreadIsCopiedByThatThread() {
        Allocation there = memory.allocate(5L * BUFFER);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(5L * BUFFER);
            write(0, host);
            memory.fromHost(host, there.segment());
            assertHolds(there.segment(), 0);
            host.fill((byte) 0);
            memory.toHost(there.segment(), host);
            assertThat(host.get(ValueLayout.JAVA_BYTE, 5L * BUFFER - 1)).isEqualTo(at(5L * BUFFER - 1));
        }
        there.free();
    }

    @Test
    void aStorageThatIsReleasedDuringACopyIsFreedAfterIt() throws Exception {
        Storage there = Storage.copyOf(new byte[100]).fill((byte) 6).cuda();
        long before = StandIn.get("allocations");
        StandIn.gate(true);
        CompletableFuture<Storage> copying = CompletableFuture.supplyAsync(there::cpu);
        waitFor("pending", 1);
        there.release();
        assertThat(StandIn.get("allocations")).isEqualTo(before);
        assertThatThrownBy(there::cpu).isInstanceOf(IllegalStateException.class).hasMessageContaining("was freed");
        StandIn.gate(false);
        assertThat(copying.get().toList()).hasSize(100).containsOnly(6);
        assertThat(StandIn.get("allocations")).isEqualTo(before - 1);
    }

    @Test
    void pinnedMemoryThatIsReleasedDuringACopyIsFreedAfterIt() throws Exception {
        Storage there = Storage.allocate(100).cuda();
        Storage pinned = Storage.copyOf(new byte[100]).fill((byte) 6).pinMemory();
        long before = StandIn.get("pinned");
        StandIn.gate(true);
        CompletableFuture<Storage> copying = CompletableFuture.supplyAsync(() -> there.copyFrom(pinned));
        waitFor("pending", 1);
        pinned.release();
        assertThat(StandIn.get("pinned")).isEqualTo(before);
        StandIn.gate(false);
        assertThat(copying.get().cpu().toList()).containsOnly(6);
        assertThat(StandIn.get("pinned")).isEqualTo(before - 100);
        there.release();
    }

    @Test
    void bytesThatWereFreedAreNotCopied() {
        Allocation there = memory.allocate(10);
        there.free();
        assertThatThrownBy(() -> memory.fill(there.segment(), (byte) 1)).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("was freed");
        assertThatThrownBy(() -> memory.upload(List.of(upload(there.segment(), 0))))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> memory.toHost(there.segment(), MemorySegment.ofArray(new byte[10])))
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void oneThreadFillsBuffersWhileOthersAreCopied() throws Exception {
        Allocation there = memory.allocate((Rings.BUFFERS + 2L) * BUFFER);
        Rings.free();
        StandIn.gate(true);
        CompletableFuture<Void> copying = CompletableFuture.runAsync(() -> {
            try (Arena arena = Arena.ofConfined()) {
                memory.fromHost(arena.allocate(there.segment().byteSize()).fill((byte) 3), there.segment());
            }
        });
        waitFor("cuMemcpyHtoDAsync_v2", Rings.BUFFERS);
        assertThat(copying.isDone()).isFalse();
        StandIn.gate(false);
        copying.get();
        byte[] end = new byte[1];
        memory.toHost(there.segment().asSlice(there.segment().byteSize() - 1), MemorySegment.ofArray(end));
        assertThat(end[0]).isEqualTo((byte) 3);
        there.free();
    }

    @Test
    void devicesAreLoadedAtTheSameTimeThroughOneRingEach() throws Exception {
        List<DeviceMemory> devices = IntStream.range(0, 4)
                .mapToObj(i -> (DeviceMemory) Allocator.on(Device.cuda(i))).toList();
        List<Allocation> there = devices.stream().map(each -> each.allocate((Rings.BUFFERS + 1L) * BUFFER)).toList();
        Rings.free();
        long pinned = StandIn.get("pinned");
        StandIn.gate(true);
        try (ExecutorService threads = Executors.newFixedThreadPool(devices.size())) {
            List<Future<?>> loads = new ArrayList<>();
            for (int i = 0; i < devices.size(); i++) {
                int index = i;
                loads.add(threads.submit(() -> devices.get(index).upload(List.of(
                        new Upload(there.get(index).segment(), (offset, into) -> into.fill((byte) (offset >> 22)))))));
            }
            // Every device has work, and nothing has been copied.
            waitFor("busy", devices.size());
            assertThat(loads).noneMatch(Future::isDone);
            waitFor("cuMemcpyHtoDAsync_v2", (long) devices.size() * Rings.BUFFERS);
            assertThat(StandIn.get("pinned") - pinned).isEqualTo((long) devices.size() * Rings.BUFFERS * BUFFER);
            StandIn.gate(false);
            for (Future<?> load : loads) {
                load.get();
            }
        }
        for (int i = 0; i < devices.size(); i++) {
            byte[] end = new byte[1];
            MemorySegment segment = there.get(i).segment();
            devices.get(i).toHost(segment.asSlice(segment.byteSize() - 1), MemorySegment.ofArray(end));
            assertThat(end[0]).isEqualTo((byte) Rings.BUFFERS);
            there.get(i).free();
        }
    }

    @Test
    void manyThreadsCopyAtOnce() throws Exception {
        StandIn.delay(50);
        try (ExecutorService platform = Executors.newFixedThreadPool(8);
                ExecutorService virtual = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < 64; i++) {
                byte value = (byte) i;
                int size = i % 8 == 0 ? 2 * BUFFER + i : 1000 + i;
                Device device = Device.cuda(i / 2 % 2);
                all.add((i % 2 == 0 ? platform : virtual).submit(() -> {
                    Storage there = Storage.allocate(size).fill(value).to(device);
                    Storage copy = there.copy();
                    there.fill((byte) 0);
                    assertThat(copy.to(Device.cuda(0)).cpu().contentEquals(Storage.allocate(size).fill(value)))
                            .isTrue();
                    there.release();
                    assertThat(StandIn.depth()).isZero();
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
        }
    }

    /// Most bytes are zeros, which take no memory here.
    @Test
    void moreThanTwoGibibytesAreCopied() throws IOException {
        long free = Files.readAllLines(Path.of("/proc/meminfo")).stream()
                .filter(line -> line.startsWith("MemAvailable"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) << 10).findFirst().orElseThrow();
        assumeTrue(free > 1L << 30, "skipped, since less than 1 GiB of memory is free: " + free + " bytes");
        long size = (1L << 31) + 5;
        Allocator pinned = Storage.allocate(1).pinMemory().allocator().orElseThrow();
        Storage host = Storage.allocate(size, pinned);
        host.set(1L << 31, (byte) 11);
        host.set(size - 1, (byte) 12);
        assertThat(StandIn.get("registered")).isEqualTo(1);
        Allocation allocation = memory.allocate(size);
        MemorySegment there = allocation.segment();
        memory.fromHost(host.segment(), there);
        assertThat(StandIn.get("largest")).isEqualTo(size);
        host.release();
        assertThat(StandIn.get("registered")).isZero();
        assertThat(end(there)).containsExactly(0, 11, 0, 0, 0, 12);
        Allocation copy = memory.allocateUninitialized(size);
        memory.copy(there, copy.segment());
        Storage back = Storage.allocate(size, pinned);
        memory.toHost(copy.segment(), back.segment());
        assertThat(back.get(1L << 31)).isEqualTo((byte) 11);
        assertThat(back.get(size - 1)).isEqualTo((byte) 12);
        assertThat(StandIn.get("cuMemcpyDtoHAsync_v2")).isEqualTo(2);
        back.release();
        copy.free();
        memory.fill(there.asSlice(1L << 31, 4), (byte) 13);
        assertThat(end(there)).containsExactly(0, 13, 13, 13, 13, 12);
        AtomicLong last = new AtomicLong();
        memory.download(there, (offset, from) -> last.set(offset + from.byteSize()));
        assertThat(last).hasValue(size);
        memory.upload(List.of(new Upload(there, (offset, into) -> into.set(ValueLayout.JAVA_BYTE, into.byteSize() - 1,
                (byte) (offset / BUFFER)))));
        assertThat(end(there)[0]).isEqualTo((byte) ((1L << 31) / BUFFER - 1));
        allocation.free();
    }

    private byte[] end(MemorySegment onDevice) {
        byte[] end = new byte[6];
        memory.toHost(onDevice.asSlice(onDevice.byteSize() - end.length), MemorySegment.ofArray(end));
        return end;
    }

    @Test
    void aMappedFileThatWasCutIsNamed() throws IOException {
        Path file = Files.write(folder.resolve("weights.bin"), new byte[10 * BUFFER]);
        Storage mapped = FileStorage.open(file, MapMode.READ_ONLY, new ByteRange(0, 10L * BUFFER));
        Storage there = mapped.cuda();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(100);
        }
        assertThatThrownBy(mapped::cuda).isInstanceOf(TruncatedMappingException.class)
                .hasMessageContaining("weights.bin");
        assertThat(there.cpu().nbytes()).isEqualTo(10L * BUFFER);
        there.release();
    }

    @Test
    void whatOtherLibrariesSubmittedBeforeIsDoneBeforeACopy() throws Exception {
        Storage there = Storage.copyOf((byte) 1, (byte) 2).cuda();
        StandIn.gateDefaultStream();
        StandIn.submit(there.dataPtr(), 2, 7);
        long calls = StandIn.get("cuMemcpyDtoHAsync_v2");
        CompletableFuture<Storage> copying = CompletableFuture.supplyAsync(there::cpu);
        waitFor("cuMemcpyDtoHAsync_v2", calls + 1);
        // A copy that does not wait ends meanwhile.
        Thread.sleep(200);
        assertThat(copying).isNotDone();
        StandIn.gate(false);
        assertThat(copying.get().toList()).containsExactly(7, 7);
        there.release();
    }

    @Test
    void whatOtherLibrariesSubmittedToTheOtherDeviceIsDoneBeforeACopyFromIt() throws Exception {
        Storage there = Storage.copyOf((byte) 1, (byte) 2).cuda();
        Device second = Device.cuda(1);
        Storage.copyOf((byte) 0).to(second).release();
        StandIn.gateDefaultStream();
        StandIn.submit(there.dataPtr(), 2, 7);
        CompletableFuture<Storage> copying = CompletableFuture.supplyAsync(() -> there.to(second));
        // A copy that does not wait ends meanwhile.
        Thread.sleep(200);
        assertThat(copying).isNotDone();
        StandIn.gate(false);
        Storage copy = copying.get();
        assertThat(copy.cpu().toList()).containsExactly(7, 7);
        there.release();
        copy.release();
    }

    @Test
    void whatOtherLibrariesSubmittedBeforeIsDoneBeforeMemoryIsFreed() throws Exception {
        Storage there = Storage.copyOf((byte) 1, (byte) 2).cuda();
        long allocations = StandIn.get("allocations");
        StandIn.gateDefaultStream();
        StandIn.submit(there.dataPtr(), 2, 7);
        there.release();
        assertThat(StandIn.get("allocations")).isEqualTo(allocations - 1);
        // Memory that is freed too early is freed meanwhile.
        Thread.sleep(200);
        StandIn.gate(false);
        Storage after = Storage.copyOf((byte) 3).cuda();
        assertThat(after.cpu().toList()).containsExactly(3);
        after.release();
    }
}
