package io.undercroft.cuda;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.cuda.internal.Rings;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.ByteRange;
import io.undercroft.mmap.FileStorage;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.DeviceMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Memory that is pinned where it is, over the stand-in for the driver.
@NeedsStandIn
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class PinInPlaceTest {
    private static final Device FIRST = Device.cuda(0);
    private static final int UNKNOWN = 999;
    /// Several buffers of the ring, and no whole number of pages.
    private static final int SIZE = 2 * Rings.BUFFER + 1001;

    @TempDir
    private Path folder;

    @AfterEach
    void nothingIsPinned() {
        Rings.free();
        long registered = StandIn.get("registered");
        // So that the next test is not blamed.
        StandIn.unpin();
        assertThat(registered).isZero();
        assertThat(StandIn.get("late")).isZero();
    }

    private static byte[] random(int nbytes) {
        return noise(nbytes, nbytes);
    }

    private Path file() throws IOException {
        return Files.write(folder.resolve("weights.bin"), random(SIZE));
    }

    private Storage mapped(MapMode mode) throws IOException {
        return FileStorage.open(file(), mode, ByteRange.whole());
    }

    /// Checks that bytes went to the device and back by one copy each way, past the ring.
    private static void assertCopiedDirectly(Storage host) {
        Rings.free();
        StandIn.reset();
        Storage there = host.to(FIRST);
        assertThat(StandIn.get("cuMemcpyHtoDAsync_v2")).isEqualTo(1);
        assertThat(StandIn.get("largest")).isEqualTo(host.nbytes());
        assertThat(StandIn.get("cuMemHostAlloc")).isZero();
        assertThat(StandIn.get("pageable")).isZero();
        assertThat(there.cpu().contentEquals(host)).isTrue();
        there.release();
    }

    @Test
    void bytesThatArePinnedAreCopiedDirectlyInBothDirections() {
        Storage host = Storage.copyOf(random(SIZE));
        assertThat(host.pinInPlace()).isSameAs(host);
        assertThat(host.isPinned()).isTrue();
        assertThat(host.pinMemory()).isSameAs(host);
        assertThat(StandIn.get("registered")).isEqualTo(1);
        Storage there = host.to(Device.cuda(1));
        host.fill((byte) 0).copyFrom(there);
        assertThat(StandIn.get("cuMemcpyHtoDAsync_v2")).isEqualTo(1);
        assertThat(StandIn.get("cuMemcpyDtoHAsync_v2")).isEqualTo(1);
        assertThat(StandIn.get("cuMemHostAlloc")).isZero();
        assertThat(StandIn.get("pageable")).isZero();
        assertThat(host.contentEquals(Storage.copyOf(random(SIZE)))).isTrue();
        assertThat(host.copy().isPinned()).isFalse();
        host.release();
        there.release();
    }

    @Test
    void aSliceIsPinnedWithItsBaseAndCopiedDirectly() {
        Storage host = Storage.copyOf(random(SIZE));
        long before = StandIn.get("pinned");
        Storage slice = host.slice(5, SIZE - 7);
        slice.pinInPlace();
        assertThat(host.isPinned()).isTrue();
        Storage other = host.slice(1, 2);
        assertThat(other.isPinned()).isTrue();
        other.release();
        assertThat(StandIn.get("pinned") - before).isEqualTo(SIZE);
        assertCopiedDirectly(slice);
        slice.release();
        host.release();
    }

    @Test
    void aFileThatIsMappedReadOnlyIsPinnedForReading() throws IOException {
        Storage mapped = mapped(MapMode.READ_ONLY).pinInPlace();
        assertThat(StandIn.get("read-only")).isEqualTo(1);
        assertCopiedDirectly(mapped);
        mapped.release();
    }

    @ParameterizedTest
    @ValueSource(strings = {"PRIVATE", "SHARED"})
    void aFileThatIsMappedForWritingIsPinnedForWriting(String mode) throws IOException {
        Storage mapped = mapped(MapMode.valueOf(mode)).pinInPlace();
        assertThat(StandIn.get("registered")).isEqualTo(1);
        assertThat(StandIn.get("read-only")).isZero();
        mapped.set(7, (byte) 77);
        assertCopiedDirectly(mapped);
        mapped.release();
    }

    @Test
    void whereTheDriverDoesNotPinForReadingOnlyTheRingCopies() throws IOException {
        StandIn.readOnlyPinning(false);
        Storage mapped = mapped(MapMode.READ_ONLY);
        assertThatThrownBy(mapped::pinInPlace).isInstanceOf(CudaException.class)
                .hasMessageContaining("this memory cannot be pinned where it is");
        assertCopiedThroughTheRing(mapped);
        mapped.release();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
              1 | CUDA_ERROR_INVALID_VALUE                  | this memory cannot be pinned where it is
            304 | CUDA_ERROR_OPERATING_SYSTEM               | this memory cannot be pinned where it is
            801 | CUDA_ERROR_NOT_SUPPORTED                  | this memory cannot be pinned where it is
            712 | CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED | some of these pages are pinned already
            """)
    void whatTheDriverRefusesToPinIsAsBeforeAndGoesThroughTheRing(int code, String name, String remedy) {
        Storage host = Storage.copyOf(random(SIZE));
        StandIn.fail("cuMemHostRegister_v2", 1, code);
        assertThatThrownBy(host::pinInPlace).isInstanceOfSatisfying(CudaException.class, e -> {
            assertThat(e.code()).isEqualTo(code);
            assertThat(e.wanted()).hasValue(SIZE);
        }).hasMessageContainingAll("pinning host memory for cuda:0 failed: " + name, remedy);
        assertCopiedThroughTheRing(host);
        assertCopiedDirectly(host.pinInPlace());
        host.release();
    }

    @Test
    void whereNoMoreMemoryCanBePinnedAStorageIsAsBeforeAndGoesThroughTheRing() {
        Storage host = Storage.copyOf(random(SIZE));
        long before = StandIn.get("pinned");
        StandIn.limits(1L << 30, before + SIZE - 1);
        assertThatThrownBy(host::pinInPlace).isInstanceOfSatisfying(CudaException.class, e -> {
            assertThat(e.code()).isEqualTo(CudaException.OUT_OF_MEMORY);
            assertThat(e.wanted()).hasValue(SIZE);
        }).hasMessageContainingAll("pinning host memory for cuda:0 failed: CUDA_ERROR_OUT_OF_MEMORY",
                "release pinned storages, or use memory that is not pinned");
        assertCopiedThroughTheRing(host);
        assertCopiedDirectly(host.pinInPlace());
        host.release();
    }

    @Test
    void storagesThatNobodyCanReachAreUnpinnedBeforeNoMoreMemoryCanBePinned() throws InterruptedException {
        StandIn.limits(1L << 30, StandIn.get("pinned") + (10 << 20));
        for (int i = 0; i < 30; i++) {
            Storage host = Storage.allocate(3 << 20, AnonymousMemory.allocator());
            assertThat(host.pinInPlace().isPinned()).isTrue();
        }
        while (StandIn.get("registered") > 0) {
            System.gc();
            Thread.sleep(1);
        }
    }

    @Test
    void bytesThatTheDriverDoesNotUnpinStayMapped() throws IOException {
        Storage mapped = mapped(MapMode.READ_ONLY).pinInPlace();
        StandIn.fail("cuMemHostUnregister", 1, UNKNOWN);
        mapped.release();
        assertThat(StandIn.get("failed")).isNotZero();
        assertThat(StandIn.get("registered")).isEqualTo(1);
        StandIn.fail("", 0, 0);
        StandIn.unpin();
        assertThat(StandIn.get("late")).isZero();
    }

    private static void assertCopiedThroughTheRing(Storage host) {
        Rings.free();
        StandIn.reset();
        assertThat(host.isPinned()).isFalse();
        Storage there = host.to(FIRST);
        assertThat(StandIn.get("cuMemHostAlloc")).isPositive();
        assertThat(StandIn.get("largest")).isEqualTo(Rings.BUFFER);
        assertThat(there.cpu().contentEquals(host)).isTrue();
        there.release();
    }

    @Test
    void aMappingThatIsReleasedDuringACopyIsUnpinnedAndUnmappedAfterIt() throws Exception {
        Storage mapped = mapped(MapMode.READ_ONLY).pinInPlace();
        Storage there = Storage.allocate(SIZE, Allocator.on(FIRST));
        StandIn.gate(true);
        CompletableFuture<Storage> copying = CompletableFuture.supplyAsync(() -> there.copyFrom(mapped));
        while (StandIn.get("pending") == 0) {
            Thread.sleep(1);
        }
        mapped.release();
        assertThat(StandIn.get("registered")).isEqualTo(1);
        StandIn.gate(false);
        assertThat(copying.get().cpu().contentEquals(Storage.copyOf(random(SIZE)))).isTrue();
        assertThat(StandIn.get("registered")).isZero();
        assertThat(StandIn.get("late")).isZero();
        there.release();
    }

    @Test
    void aStorageThatIsResizedOrMovedIsNotPinnedAnyMore() {
        Storage host = Storage.allocate(SIZE, AnonymousMemory.allocator()).fill((byte) 4).pinInPlace();
        host.resize(SIZE + 1L);
        assertThat(host.isPinned()).isFalse();
        assertThat(StandIn.get("registered")).isZero();
        host.pinInPlace().shareMemory();
        assertThat(host.isPinned()).isFalse();
        assertThat(StandIn.get("registered")).isZero();
        host.pinInPlace();
        assertCopiedDirectly(host);
        host.release();
    }

    @Test
    void storagesOfOneMappingArePinnedEachForItself() throws IOException {
        try (MappedFile file = MappedFile.open(file(), MapMode.READ_ONLY)) {
            Storage first = Storage.over(file.window(0, Rings.BUFFER)).pinInPlace();
            Storage second = Storage.over(file.window(Rings.BUFFER, Rings.BUFFER));
            assertCopiedDirectly(first);
            assertCopiedThroughTheRing(second);
            Storage across = Storage.over(file.window(Rings.BUFFER - 10L, 20));
            assertThatThrownBy(across::pinInPlace).isInstanceOf(CudaException.class)
                    .hasMessageContaining("some of these pages are pinned already");
            Storage there = across.to(FIRST);
            assertThat(there.cpu().contentEquals(across)).isTrue();
            first.release();
            assertCopiedDirectly(second.pinInPlace());
            second.release();
            across.release();
            there.release();
        }
    }

    @Test
    void ofSeveralThreadsOnePins() throws Exception {
        Storage host = Storage.copyOf(random(SIZE));
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Thread.ofPlatform().start(host::pinInPlace);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(StandIn.get("cuMemHostRegister_v2")).isEqualTo(1);
        host.release();
    }

    @Test
    void whatNobodyCanReachIsUnpinned() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            assertThat(Storage.allocate(SIZE, AnonymousMemory.allocator()).pinInPlace().isPinned()).isTrue();
        }
        while (StandIn.get("registered") > 0) {
            System.gc();
            Thread.sleep(1);
        }
    }

    @Test
    void whatCannotBePinnedSaysSo() {
        Storage heap = Storage.allocate(10, Allocator.heap());
        assertThatThrownBy(heap::pinInPlace).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is not in memory of the host off the heap");
        Storage there = Storage.allocate(10, Allocator.on(FIRST));
        assertThatThrownBy(there::pinInPlace).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is not in memory of the host off the heap");
        there.release();
        Storage freezable = Storage.allocate(SIZE, AnonymousMemory.freezableAllocator());
        assertThatThrownBy(freezable::pinInPlace).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("memory that can be frozen");
        freezable.release();
        assertThatThrownBy(freezable::pinInPlace).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("freed");
        assertThat(Storage.allocate(0).pinInPlace().isPinned()).isFalse();
        assertThat(StandIn.get("cuMemHostRegister_v2")).isZero();
    }

    @Test
    void memoryWhoseOwnerTookItBackIsNotCopied() {
        Storage host;
        try (Arena arena = Arena.ofShared()) {
            host = Storage.wrap(arena.allocate(100)).pinInPlace();
            host.release();
        }
        assertThatThrownBy(() -> host.to(FIRST)).isInstanceOf(IllegalStateException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"cuDeviceGetAttribute", "cuMemHostRegister_v2", "cuMemHostUnregister", "cuMemAllocAsync",
            "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize", "cuStreamCreate"})
    void whicheverCallFailsNothingStaysPinnedOrAllocated(String function) throws IOException {
        pinAndCopy();
        long allocations = StandIn.get("allocations");
        int failures = 0;
        for (long nth = 1;; nth++) {
            StandIn.fail(function, nth, UNKNOWN);
            try {
                pinAndCopy();
            } catch (CudaException e) {
                assertThat(e.code()).isEqualTo(UNKNOWN);
                failures++;
            }
            boolean hasFailed = StandIn.get("failed") != 0;
            StandIn.fail("", 0, 0);
            boolean isLeft = hasFailed && function.equals("cuMemHostUnregister");
            assertThat(StandIn.get("registered")).as(function + " " + nth).isEqualTo(isLeft ? 1 : 0);
            StandIn.unpin();
            assertThat(StandIn.get("allocations")).as(function + " " + nth).isEqualTo(allocations);
            if (!hasFailed) {
                break;
            }
        }
        // Streams are kept, so that none is made any more; and a storage is released whether it is unpinned or not.
        assertThat(failures > 0).isEqualTo(!List.of("cuStreamCreate", "cuMemHostUnregister").contains(function));
    }

    private void pinAndCopy() throws IOException {
        DeviceMemory memory = (DeviceMemory) Allocator.on(FIRST);
        Storage mapped = mapped(MapMode.READ_ONLY);
        Storage host = Storage.allocate(SIZE, AnonymousMemory.allocator());
        Storage there = null;
        try {
            mapped.pinInPlace();
            host.pinInPlace();
            there = mapped.to(memory.device());
            host.copyFrom(there);
            assertThat(host.contentEquals(mapped)).isTrue();
        } finally {
            mapped.release();
            host.release();
            if (there != null) {
                there.release();
            }
        }
    }
}
