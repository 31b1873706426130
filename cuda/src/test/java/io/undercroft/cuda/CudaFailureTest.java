package io.undercroft.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.cuda.internal.Rings;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.DeviceMemory.Upload;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Errors of the driver, injected by the stand-in for it.
@NeedsStandIn
class CudaFailureTest {
    private static final int UNKNOWN = 999;
    private static final int ILLEGAL_ADDRESS = 700;
    private static final long BYTES = Rings.BUFFER + 100L;

    /// No other test uses it, so that its free memory is known.
    private static final Device FRESH = Device.cuda(2);

    private final DeviceMemory memory = (DeviceMemory) Allocator.on(Device.cuda(0));

    /// One of each thing that a user does.
    private void everything() {
        List<Storage> made = new ArrayList<>();
        try {
            Storage host = Storage.allocate(BYTES).fill((byte) 5);
            Storage pinned = kept(made, Storage.allocate(1000).fill((byte) 6).pinMemory());
            Storage there = kept(made, host.cuda());
            assertThat(there.cpu().contentEquals(host)).isTrue();
            Storage other = kept(made, there.to(Device.cuda(1)));
            Storage copy = kept(made, other.copy());
            kept(made, copy.slice(0, 1000)).copyFrom(pinned);
            kept(made, there.slice(1, 100)).copyFrom(kept(made, there.slice(0, 100))).fill((byte) 1);
            Storage zeroed = kept(made, Storage.allocate(10, Allocator.on(Device.cuda(0))));
            assertThat(zeroed.cpu().toList()).containsOnly(0);
            Allocation raw = memory.allocate(BYTES);
            try {
                memory.upload(List.of(new Upload(raw.segment(), (_, into) -> into.fill((byte) 7))));
                memory.download(raw.segment(),
                        (_, from) -> assertThat(from.get(ValueLayout.JAVA_BYTE, 99)).isEqualTo((byte) 7));
            } finally {
                raw.free();
            }
        } finally {
            made.forEach(Storage::release);
        }
    }

    private static Storage kept(List<Storage> all, Storage made) {
        all.add(made);
        return made;
    }

    @ParameterizedTest
    @ValueSource(strings = {"cuMemAllocAsync", "cuMemsetD8Async", "cuStreamCreate", "cuStreamSynchronize",
            "cuMemHostAlloc",
            "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemcpyPeerAsync"})
    void whicheverCallFailsNothingLeaksAndTheDeviceStillWorks(String function) {
        everything();
        Rings.free();
        long allocations = StandIn.get("allocations");
        long pinned = StandIn.get("pinned");
        int failures = 0;
        for (long nth = 1;; nth++) {
            StandIn.fail(function, nth, UNKNOWN);
            CudaException thrown = null;
            try {
                everything();
            } catch (CudaException e) {
                thrown = e;
            }
            boolean failed = StandIn.get("failed") != 0;
            StandIn.fail("", 0, 0);
            Rings.free();
            assertThat(StandIn.depth()).isZero();
            assertThat(StandIn.get("pending")).isZero();
            assertThat(StandIn.get("allocations")).as(function + " " + nth).isEqualTo(allocations);
            assertThat(StandIn.get("pinned")).as(function + " " + nth).isEqualTo(pinned);
            if (!failed) {
                assertThat(thrown).isNull();
                break;
            }
            if (thrown != null) {
                failures++;
                assertThat(function).startsWith(thrown.call());
                assertThat(thrown.code()).isEqualTo(UNKNOWN);
                assertThat(thrown.name()).isEqualTo("CUDA_ERROR_UNKNOWN");
            }
        }
        assertThat(failures).isPositive();
        everything();
    }

    /// Where the context cannot be pushed or memory not be freed, the driver is in no state to free it at all.
    @Test
    void anyCallMayFailAndTheDeviceWorksAfterwards() {
        everything();
        for (long nth = 1;; nth++) {
            StandIn.fail("*", nth, UNKNOWN);
            try {
                everything();
            } catch (CudaException e) {
                assertThat(e.code()).isEqualTo(UNKNOWN);
            }
            boolean failed = StandIn.get("failed") != 0;
            StandIn.fail("", 0, 0);
            assertThat(StandIn.depth()).isZero();
            if (!failed) {
                break;
            }
        }
        everything();
    }

    @Test
    void tooLittleMemorySaysHowMuchWasWantedAndFree() {
        StandIn.limits(10 << 20, 1 << 30);
        Storage there = Storage.allocate(1 << 20).to(FRESH);
        Storage host = Storage.allocate(10 << 20);
        assertThatThrownBy(() -> host.to(FRESH))
                .isInstanceOfSatisfying(CudaException.class, e -> {
                    assertThat(e.code()).isEqualTo(CudaException.OUT_OF_MEMORY);
                    assertThat(e.call()).isEqualTo("cuMemAllocAsync");
                    assertThat(e.wanted()).hasValue(10 << 20);
                    assertThat(e.free()).hasValue(9 << 20);
                    assertThat(e.total()).hasValue(10 << 20);
                    assertThat(e.remedy()).startsWith("release storages that are not needed");
                }).hasMessage(
                        "an allocation on cuda:2 failed: CUDA_ERROR_OUT_OF_MEMORY (2) of cuMemAllocAsync, for 10485760 "
                                + "bytes, when 9437184 of 10485760 bytes were free; release storages that are "
                                + "not needed, load less at a time, or use another device");
        assertThatThrownBy(() -> there.resize(10 << 20)).isInstanceOf(CudaException.class)
                .matches(e -> memory.isOutOfMemory(e));
        assertThat(memory.isOutOfMemory(new CudaException(UNKNOWN, "", "", "", CudaException.Sizes.NONE, "")))
                .isFalse();
        assertThat(there.nbytes()).isEqualTo(1 << 20);
        there.release();
    }

    @Test
    void aFileThatDoesNotFitIsNamedWithWhatWasWantedAndFreeAndWhatToDo(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("model.croft");
        Checkpoint.save(file, Map.of("w", Tensor.ones(DType.UINT8, 10 << 20)));
        StandIn.limits(9 << 20, 1 << 30);
        try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().device(FRESH))) {
            assertThatThrownBy(() -> checkpoint.tensor("w").cpu()).isInstanceOf(OutOfMemoryError.class)
                    .hasMessageContainingAll(file.toString(), "10485760 bytes cannot be loaded to cuda:2",
                            "when 9437184 of 9437184 bytes were free", "OpenOptions.only", "OpenOptions.devices")
                    .hasCauseInstanceOf(CudaException.class);
        }
    }

    @Test
    void storagesThatNobodyCanReachAreFreedBeforeTheDeviceIsFull() throws Exception {
        long before = StandIn.get("allocations");
        StandIn.limits(10 << 20, 1 << 30);
        for (int i = 0; i < 30; i++) {
            assertThat(Storage.allocate(3 << 20, Allocator.on(Device.cuda(3))).nbytes()).isEqualTo(3 << 20);
        }
        collect("allocations", before);
    }

    /// Has the garbage collector free what other tests would count.
    private static void collect(String what, long atMost) throws InterruptedException {
        while (StandIn.get(what) > atMost) {
            System.gc();
            Thread.sleep(1);
        }
    }

    @Test
    void pinnedStoragesThatNobodyCanReachAreFreedBeforeNoMoreMemoryCanBePinned() throws Exception {
        long before = StandIn.get("pinned");
        StandIn.limits(1 << 30, before + (10 << 20));
        Storage host = Storage.allocate(3 << 20);
        for (int i = 0; i < 30; i++) {
            assertThat(host.pinMemory().nbytes()).isEqualTo(3 << 20);
        }
        collect("pinned", before);
    }

    @Test
    void whereNoMoreMemoryCanBePinnedPinningFailsAndCopyingDoesNot() {
        StandIn.limits(1 << 30, 1 << 20);
        assertThatThrownBy(() -> Storage.allocate(2 << 20).pinMemory()).isInstanceOf(CudaException.class)
                .hasMessage(
                        "pinning host memory for cuda:0 failed: CUDA_ERROR_OUT_OF_MEMORY (2) of cuMemHostAlloc, for "
                                + "2097152 bytes; release pinned storages, or use memory that is not pinned");
        Storage host = Storage.allocate(BYTES).fill((byte) 2);
        Storage there = host.cuda();
        assertThat(there.cpu().contentEquals(host)).isTrue();
        assertThat(StandIn.get("pageable")).isPositive();
        there.release();
        Rings.free();
    }

    @Test
    void afterAFaultOfAKernelTheContextIsSaidToBeLost() {
        Storage there = Storage.allocate(100).cuda();
        StandIn.fault(ILLEGAL_ADDRESS);
        assertThatThrownBy(there::cpu).isInstanceOfSatisfying(CudaException.class,
                e -> assertThat(e.name()).isEqualTo("CUDA_ERROR_ILLEGAL_ADDRESS"))
                .hasMessageContaining("the CUDA context of this process is lost");
        assertThatThrownBy(() -> Storage.allocate(1).cuda()).isInstanceOf(CudaException.class);
        assertThatThrownBy(() -> Storage.allocate(1).pinMemory()).isInstanceOf(CudaException.class);
        there.release();
        assertThat(Storage.copyOf((byte) 1).copy().get(0)).isEqualTo((byte) 1);
    }

    @Test
    void aCopyThatFailsOnItsStreamIsReportedByTheWaitForIt() throws Exception {
        Storage there = Storage.allocate(100).cuda();
        MemorySegment host = MemorySegment.ofArray(new byte[100]);
        StandIn.gate(true);
        Thread opener = Thread.ofVirtual().start(() -> {
            while (StandIn.get("pending") == 0) {
                Thread.onSpinWait();
            }
            StandIn.fault(ILLEGAL_ADDRESS);
            StandIn.gate(false);
        });
        assertThatThrownBy(() -> Storage.wrap(host).copyFrom(there)).isInstanceOf(CudaException.class)
                .hasMessageContaining("waiting for work on cuda:0");
        opener.join();
        StandIn.fault(0);
        there.release();
    }
}
